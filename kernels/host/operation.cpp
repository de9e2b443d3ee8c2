#include "kernels/host/operation.h"

#include <fmt/format.h>

#include "kernels/host/group_reduce.h"

namespace claimcheck::kernels::host {

Error mistake(std::string text) {
  return Error(
      {.outcome = Outcome::failed, .library = "claimcheck", .code = {}, .text = std::move(text), .remedy = {}});
}

Error rank_timed_out(std::string text) {
  return Error({.outcome = Outcome::timed_out,
                .library = "claimcheck",
                .code = {},
                .text = std::move(text),
                .remedy = "see whether the machine is busy with something else, or allow a longer deadline"});
}

Error Operation::not_coming() const {
  return rank_timed_out(fmt::format("{} was given up because a rank did not come", to_string(collective)));
}

Multiples multiples_of(Collective collective, std::size_t ranks) {
  switch (collective) {
    case Collective::all_gather:
      return {1, ranks};
    case Collective::reduce_scatter:
      return {ranks, 1};
    case Collective::all_to_all:
      return {ranks, ranks};
    case Collective::all_reduce:
    case Collective::broadcast:
    case Collective::send_receive:
      return {1, 1};
  }
  return {1, 1};
}

void check_type(Collective collective, DataType type, std::size_t count) {
  const bool sums = collective == Collective::all_reduce || collective == Collective::reduce_scatter;
  if (sums && !can_sum(type))
    throw unsupported(fmt::format(
        "sums of {} between cores are not supported; fp64, fp32, fp16, bf16, int32 and int8 are", to_string(type)));
  if (type == DataType::fp4 && count % 2 != 0)
    throw unsupported("an odd number of fp4 values does not end at a whole byte");
}

void add_buffers(Operation& operation, const Group::Buffers& buffers, int rank) {
  const auto ranks = static_cast<std::size_t>(operation.ranks);
  const Multiples times = multiples_of(operation.collective, ranks);
  const std::size_t bytes = operation.part_bytes();
  // Only the root of a broadcast sends.
  const bool sends = operation.collective != Collective::broadcast || rank == 0;
  Region receive = region_of(buffers.receive, "the receive slice");
  Region send = sends ? region_of(buffers.send, "the send slice") : receive;
  if ((sends && send.size_bytes < times.send * bytes) || receive.size_bytes < times.receive * bytes)
    throw mistake(
        fmt::format("{} of {} {} values among {} ranks needs {} bytes to send and {} to receive; rank {} has "
                    "{} and {}",
                    to_string(operation.collective), operation.count, to_string(operation.type), ranks,
                    times.send * bytes, times.receive * bytes, rank, send.size_bytes, receive.size_bytes));
  const bool exchanges =
      operation.collective == Collective::send_receive || operation.collective == Collective::all_to_all;
  if (exchanges && ranks > 1 && send.address == receive.address)
    throw unsupported(fmt::format("{} cannot work in place: what is received would overwrite what is still to be sent",
                                  to_string(operation.collective)));
  operation.send.push_back(std::move(send));
  operation.receive.push_back(std::move(receive));
}

}  // namespace claimcheck::kernels::host

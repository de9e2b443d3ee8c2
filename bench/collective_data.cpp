#include "bench/collective_data.h"

#include <algorithm>

#include "bench/reference.h"

namespace claimcheck::bench {

using kernels::Buffer;
using kernels::Collective;
using kernels::Slice;

double bus_factor(Collective collective, double n) {
  switch (collective) {
    case Collective::all_reduce:
      return 2 * (n - 1) / n;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return (n - 1) / n;
    case Collective::broadcast:
    case Collective::send_receive:
      return 1;
  }
  return 1;
}

Extent::Extent(Collective collective, std::size_t size_bytes, std::size_t ranks) {
  const bool shared = collective == Collective::all_gather || collective == Collective::reduce_scatter ||
                      collective == Collective::all_to_all;
  const std::size_t whole = std::max<std::size_t>(1, size_bytes / element_bytes / (shared ? ranks : 1));
  count = whole;
  send = collective == Collective::reduce_scatter || collective == Collective::all_to_all ? whole * ranks : whole;
  receive = collective == Collective::all_gather || collective == Collective::all_to_all ? whole * ranks : whole;
}

std::vector<Stretch> stretches(Collective collective, std::size_t rank, std::size_t ranks, std::size_t count) {
  std::vector<std::pair<std::size_t, std::size_t>> everyone;
  const std::size_t offset = collective == Collective::reduce_scatter ? rank * count : 0;
  for (std::size_t other = 0; other < ranks; ++other) everyone.emplace_back(other, offset);
  std::vector<Stretch> result;
  switch (collective) {
    case Collective::all_reduce:
    case Collective::reduce_scatter:
      return {{0, count, everyone}};
    case Collective::broadcast:
      return {{0, count, {{0, 0}}}};
    case Collective::send_receive:
      return {{0, count, {{rank == 0 ? ranks - 1 : rank - 1, 0}}}};
    case Collective::all_gather:
    case Collective::all_to_all:
      for (std::size_t other = 0; other < ranks; ++other)
        result.push_back({other * count, count, {{other, collective == Collective::all_to_all ? rank * count : 0}}});
  }
  return result;
}

void Inputs::fill(kernels::Device& device, kernels::Stream& stream, Buffer& buffer, std::size_t rank,
                  std::size_t elements) const {
  for (std::size_t first = 0; first < elements; first += piece) {
    const std::size_t length = std::min(piece, elements - first);
    device.fill(stream, Slice(buffer, first * element_bytes, length * element_bytes), collective_type,
                kernels::Pattern::normal, seed_of(rank, first / piece));
  }
}

std::vector<double> Inputs::read(kernels::Device& device, kernels::Stream& stream, std::size_t rank, std::size_t first,
                                 std::size_t length, std::size_t elements) {
  std::vector<double> result;
  while (result.size() < length) {
    const std::size_t at = first + result.size();
    const std::vector<double>& values = piece_of(device, stream, rank, at / piece, elements);
    const std::size_t from = at % piece;
    const std::size_t take = std::min(length - result.size(), values.size() - from);
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(from);
    result.insert(result.end(), begin, begin + static_cast<std::ptrdiff_t>(take));
  }
  return result;
}

const std::vector<double>& Inputs::piece_of(kernels::Device& device, kernels::Stream& stream, std::size_t rank,
                                            std::size_t number, std::size_t elements) {
  for (const Kept& kept : kept_)
    if (kept.rank == rank && kept.number == number) return kept.values;
  if (!scratch_) scratch_ = device.allocate(piece * element_bytes);
  const std::size_t length = std::min(piece, elements - number * piece);
  device.fill(stream, Slice(*scratch_, 0, length * element_bytes), collective_type, kernels::Pattern::normal,
              seed_of(rank, number));
  // A few are kept: ranks are checked piece by piece, and want the same ones.
  if (kept_.size() >= 64) kept_.erase(kept_.begin());
  kept_.push_back({rank, number, download_values(device, stream, *scratch_, collective_type, 0, length)});
  return kept_.back().values;
}

}  // namespace claimcheck::bench

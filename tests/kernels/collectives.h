// Collectives against their definitions in NCCL's documentation, for groups of one process and of several.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/kernels/support.h"

namespace claimcheck::kernels::test::collectives {

// More ranks than this machine has cores share them.
struct Ranks {
  explicit Ranks(std::size_t count) : Ranks(count, alone()) {}
  Ranks(std::size_t count, World& world) : platform(open_platform({})) {
    for (std::size_t rank = 0; rank < count; ++rank) {
      devices.push_back(platform->ranks()[rank % platform->ranks().size()]);
      streams.push_back(devices.back()->make_stream());
      stream_pointers.push_back(streams.back().get());
    }
    group = platform->make_group(devices, world);
  }

  static World& alone() {
    static World world;
    return world;
  }

  std::unique_ptr<Platform> platform;
  std::vector<Device*> devices;
  std::unique_ptr<Group> group;  // ends after the streams
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<Stream*> stream_pointers;
};

// Small whole numbers: exact in every type, and so are their sums.
inline double element(std::size_t rank, std::size_t i) { return static_cast<double>((rank * 5 + i * 3) % 11) - 5.0; }

struct Extents {
  std::size_t send;        // in units of count
  std::size_t receive;     // in units of count
  bool may_be_in_place;    //
  std::size_t send_at;     // in place: where send starts within the larger buffer, per rank, in units of count
  std::size_t receive_at;  // likewise
};

inline Extents extents_of(Collective collective, std::size_t ranks) {
  switch (collective) {
    case Collective::all_reduce:
    case Collective::broadcast:
      return {1, 1, true, 0, 0};
    case Collective::all_gather:
      return {1, ranks, true, 1, 0};
    case Collective::reduce_scatter:
      return {ranks, 1, true, 0, 1};
    case Collective::send_receive:
      return {1, 1, false, 0, 0};
    case Collective::all_to_all:
      return {ranks, ranks, false, 0, 0};
  }
  return {};
}

// What element i of rank `me` must receive, from the definitions of NCCL's documentation.
inline double expected(Collective collective, std::size_t ranks, std::size_t me, std::size_t count, std::size_t i) {
  double sum = 0;
  switch (collective) {
    case Collective::all_reduce:
      for (std::size_t rank = 0; rank < ranks; ++rank) sum += element(rank, i);
      return sum;
    case Collective::reduce_scatter:
      for (std::size_t rank = 0; rank < ranks; ++rank) sum += element(rank, me * count + i);
      return sum;
    case Collective::all_gather:
      return element(i / count, i % count);
    case Collective::broadcast:
      return element(0, i);
    case Collective::send_receive:
      return element((me + ranks - 1) % ranks, i);
    case Collective::all_to_all:
      return element(i / count, me * count + i % count);
  }
  return 0;
}

inline void upload_values(Device& device, Stream& stream, Slice target, DataType type, std::size_t count,
                          std::optional<std::size_t> rank) {
  std::vector<double> values(count, 7.0);
  for (std::size_t i = 0; rank && i < count; ++i) values[i] = element(*rank, i);
  std::vector<std::byte> stored(storage_bytes(type, count));
  encode(type, values, stored);
  device.upload(stream, target, stored);
}

inline void check(Ranks& ranks, Collective collective, DataType type, std::size_t count, bool in_place) {
  const auto size = static_cast<std::size_t>(ranks.group->size());
  const auto first = static_cast<std::size_t>(ranks.group->first_rank());
  const Extents layout = extents_of(collective, size);
  const std::size_t unit = storage_bytes(type, count);
  std::vector<std::unique_ptr<Buffer>> owned;
  std::vector<Group::Buffers> buffers;
  for (std::size_t i = 0; i < ranks.devices.size(); ++i) {
    const std::size_t rank = first + i;
    Device& device = *ranks.devices[i];
    Slice send;
    Slice receive;
    if (in_place) {
      owned.push_back(device.allocate(std::max(layout.send, layout.receive) * unit + 1));
      send = Slice(*owned.back(), layout.send_at * rank * unit, layout.send * unit);
      receive = Slice(*owned.back(), layout.receive_at * rank * unit, layout.receive * unit);
    } else {
      owned.push_back(device.allocate(layout.send * unit + 1));
      send = Slice(*owned.back(), 0, layout.send * unit);
      owned.push_back(device.allocate(layout.receive * unit + 1));
      receive = Slice(*owned.back(), 0, layout.receive * unit);
      upload_values(device, *ranks.streams[i], receive, type, layout.receive * count, std::nullopt);
    }
    upload_values(device, *ranks.streams[i], send, type, layout.send * count, rank);
    buffers.push_back({send, receive});
  }
  ranks.group->enqueue(collective, buffers, count, type, ranks.stream_pointers);
  ranks.group->wait(ranks.stream_pointers, test::patience);
  for (std::size_t local = 0; local < ranks.devices.size(); ++local) {
    const std::size_t rank = first + local;
    const std::size_t received = layout.receive * count;
    const auto bytes = test::downloaded<std::byte>(*ranks.devices[local], buffers[local].receive);
    const std::vector<double> values = decode(type, bytes, received);
    for (std::size_t i = 0; i < received; ++i)
      ASSERT_EQ(values[i], expected(collective, size, rank, count, i)) << "rank " << rank << ", element " << i;
  }
}

inline constexpr Collective all_collectives[] = {Collective::all_reduce,     Collective::all_gather,
                                                 Collective::reduce_scatter, Collective::broadcast,
                                                 Collective::send_receive,   Collective::all_to_all};

}  // namespace claimcheck::kernels::test::collectives

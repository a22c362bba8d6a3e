#include "base/collective_algorithm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace partita {
namespace {

constexpr Collective kKinds[] = {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
                                 Collective::all_to_all, Collective::permute,        Collective::halo_exchange,
                                 Collective::broadcast,  Collective::barrier};

RankSpread processes(int64_t hosts, int64_t per_host) { return {hosts * per_host, hosts, per_host, per_host}; }

TEST(CollectiveAlgorithm, EachIsDescribedOnce) {
  ASSERT_EQ(runtime_algorithms().size(), std::size(kRuntimeAlgorithms));
  for (size_t i = 0; i < std::size(kRuntimeAlgorithms); ++i) {
    const AlgorithmInfo& info = runtime_algorithms()[i];
    EXPECT_EQ(info.algorithm, kRuntimeAlgorithms[i]);
    EXPECT_TRUE(is_of_runtime(info.algorithm));
    EXPECT_FALSE(info.meaning.empty() || info.ranks.empty() || info.collectives.empty()) << name_of(info.algorithm);
  }
  EXPECT_EQ(std::size(kRuntimeAlgorithms) + 4, kNames<CollectiveAlgorithm>.size());
  for (const auto library : {CollectiveAlgorithm::ring, CollectiveAlgorithm::tree, CollectiveAlgorithm::hierarchical,
                             CollectiveAlgorithm::in_network})
    EXPECT_FALSE(is_of_runtime(library));
}

/// Checks that the choice in any group is an algorithm of the collective.
TEST(CollectiveAlgorithm, ChoosesOneThatDoesTheCollective) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 2000; ++trial) {
    RankSpread spread = processes(1 + static_cast<int64_t>(random() % 5), 1 + static_cast<int64_t>(random() % 80));
    spread.share_memory = random() % 4 != 0;
    if (spread.hosts == 1 && random() % 2 == 0) spread = spread_of_threads(spread.ranks, 8);
    for (const Collective kind : kKinds) {
      const bool exchanges = kind == Collective::permute || kind == Collective::halo_exchange;
      const Collective called = exchanges ? Collective::all_to_all : kind;
      for (const DType dtype : {DType::f32, DType::bf16, DType::i64}) {
        const AlgorithmChoice choice = choose_algorithm(kind, dtype, spread);
        EXPECT_EQ(choice, choose_algorithm(called, dtype, spread));
        for (const CollectiveAlgorithm one : {choice.small, choice.large}) {
          const auto info = std::find_if(runtime_algorithms().begin(), runtime_algorithms().end(),
                                         [&](const AlgorithmInfo& other) { return other.algorithm == one; });
          ASSERT_NE(info, runtime_algorithms().end());
          EXPECT_NE(std::find(info->collectives.begin(), info->collectives.end(), called), info->collectives.end())
              << name_of(kind) << " by " << name_of(one);
        }
      }
    }
  }
}

// The last thread to arrive does the work of up to 8 KiB over all ranks, or 128 KiB if they share cores.
TEST(CollectiveAlgorithm, OfThreads) {
  for (int64_t ranks = 1; ranks <= 256; ++ranks) {
    for (const int64_t cores : {ranks, ranks - 1}) {
      const AlgorithmChoice choice =
          choose_algorithm(Collective::all_to_all, DType::u8, spread_of_threads(ranks, cores));
      const int64_t most = cores == ranks ? 8 << 10 : 128 << 10;
      for (const int64_t all : {int64_t{0}, int64_t{1}, most - 1, most, most + 1, 2 * most}) {
        const double mean = static_cast<double>(all) / static_cast<double>(ranks);
        EXPECT_EQ(choice.of(mean), all > most ? CollectiveAlgorithm::direct : CollectiveAlgorithm::last_rank)
            << ranks << " ranks, " << all << " bytes";
      }
    }
  }
  EXPECT_EQ(choose_algorithm(Collective::barrier, DType::u8, spread_of_threads(4, 4)).of(1e9),
            CollectiveAlgorithm::last_rank);
}

TEST(CollectiveAlgorithm, OfProcesses) {
  const auto of = [](Collective kind, double bytes, const RankSpread& spread, DType dtype = DType::f32) {
    return choose_algorithm(kind, dtype, spread).of(bytes);
  };
  const double small = 65535, large = 65536;
  for (const Collective kind : kKinds) {
    EXPECT_EQ(of(kind, large, processes(1, 64)), CollectiveAlgorithm::shared_memory);
    EXPECT_EQ(of(kind, 0, processes(1, 2)), CollectiveAlgorithm::shared_memory);
    const auto messages =
        kind == Collective::barrier ? CollectiveAlgorithm::dissemination : CollectiveAlgorithm::exchange;
    EXPECT_EQ(of(kind, large, processes(1, 65)), messages) << "too many for a segment";
    EXPECT_EQ(of(kind, large, processes(2, 65)), messages);
    EXPECT_EQ(of(kind, large, processes(4, 1)), messages) << "one rank on each host";
    EXPECT_EQ(of(kind, small, processes(2, 4)), messages);
    RankSpread apart = processes(2, 4);
    apart.share_memory = false;
    EXPECT_EQ(of(kind, large, apart), messages);
  }
  const RankSpread hosts = processes(2, 4);
  EXPECT_EQ(of(Collective::all_reduce, large, hosts), CollectiveAlgorithm::chain);
  EXPECT_EQ(of(Collective::reduce_scatter, large, hosts), CollectiveAlgorithm::chain);
  EXPECT_EQ(of(Collective::all_gather, large, hosts), CollectiveAlgorithm::host_shares);
  EXPECT_EQ(of(Collective::broadcast, large, hosts), CollectiveAlgorithm::host_shares);
  EXPECT_EQ(of(Collective::all_to_all, large, hosts), CollectiveAlgorithm::exchange);
  // Partial sums of 16-bit floats would be rounded.
  for (const DType half : {DType::bf16, DType::f16}) {
    EXPECT_EQ(of(Collective::all_reduce, large, hosts, half), CollectiveAlgorithm::exchange);
    EXPECT_EQ(of(Collective::reduce_scatter, large, hosts, half), CollectiveAlgorithm::exchange);
    EXPECT_EQ(of(Collective::all_gather, large, hosts, half), CollectiveAlgorithm::host_shares);
  }
  // A chain of two hosts of two ranks sends as much as messages alone.
  EXPECT_EQ(of(Collective::reduce_scatter, large, processes(2, 2)), CollectiveAlgorithm::exchange);
  EXPECT_EQ(of(Collective::reduce_scatter, large, processes(3, 2)), CollectiveAlgorithm::chain);
  EXPECT_EQ(of(Collective::all_reduce, large, {3, 2, 1, 2}), CollectiveAlgorithm::chain) << "hosts of two and of one";
}

TEST(CollectiveAlgorithm, LeavesOut) {
  using enum CollectiveAlgorithm;
  const std::vector<CollectiveAlgorithm> few = {direct, exchange};
  EXPECT_EQ(choose_algorithm(Collective::all_reduce, DType::f32, spread_of_threads(2, 2), few),
            (AlgorithmChoice{direct, direct}));
  for (const Collective kind : kKinds) {
    EXPECT_EQ(choose_algorithm(kind, DType::f32, processes(1, 4), few), (AlgorithmChoice{exchange, exchange}));
    EXPECT_EQ(choose_algorithm(kind, DType::f32, processes(2, 4), few), (AlgorithmChoice{exchange, exchange}));
  }
}

// The numbers of docs/internals/collectives.md, for buffers of B bytes on 4 ranks.
TEST(CollectiveAlgorithm, CountsBytes) {
  const double bytes = 4 << 20;
  const auto of = [&](CollectiveAlgorithm algorithm, Collective kind, const RankSpread& spread) {
    return traffic_of(algorithm, kind, bytes, spread);
  };
  using enum CollectiveAlgorithm;
  const CollectiveTraffic reduced = of(direct, Collective::all_reduce, spread_of_threads(4, 4));
  EXPECT_EQ(reduced.read, bytes);
  EXPECT_EQ(reduced.written, bytes);
  EXPECT_EQ(reduced.meetings, 2);
  EXPECT_EQ(reduced.turns, 1);
  EXPECT_EQ(of(direct, Collective::reduce_scatter, spread_of_threads(4, 4)).written, bytes / 4);
  const CollectiveTraffic alone = of(last_rank, Collective::all_reduce, spread_of_threads(4, 4));
  EXPECT_EQ(alone.read, 4 * bytes);
  EXPECT_EQ(alone.meetings, 1);
  // It reads its buffer, writes and reads the segment as the page says, and writes the result.
  const CollectiveTraffic shared = of(shared_memory, Collective::all_reduce, processes(1, 4));
  EXPECT_EQ(shared.read, bytes + 2 * bytes);
  EXPECT_EQ(shared.written, (bytes + bytes / 4) + bytes);
  EXPECT_EQ(shared.meetings, 2 * 16);
  EXPECT_EQ(shared.turns, 16);
  EXPECT_EQ(of(shared_memory, Collective::all_reduce, processes(1, 2)).meetings, 16);
  EXPECT_EQ(of(exchange, Collective::all_reduce, processes(2, 2)).sent, 2 * 2 * 0.5 * bytes);
  EXPECT_EQ(of(exchange, Collective::all_gather, processes(2, 2)).sent, 2 * 0.5 * bytes);
  EXPECT_EQ(of(chain, Collective::all_reduce, processes(3, 2)).sent, 2 * bytes);
  EXPECT_EQ(of(host_shares, Collective::all_gather, processes(4, 2)).sent, 0.75 * bytes);
  EXPECT_EQ(of(host_shares, Collective::broadcast, processes(4, 2)).sent, 3 * bytes);
  EXPECT_EQ(of(dissemination, Collective::barrier, processes(5, 1)).steps, 3);
}

TEST(CollectiveAlgorithm, MoreBytesNeverMoveLess) {
  for (const RankSpread& spread : {spread_of_threads(2, 2), spread_of_threads(7, 2), processes(1, 2), processes(1, 64),
                                   processes(2, 3), processes(5, 8), RankSpread{7, 3, 1, 4}}) {
    for (const Collective kind : kKinds) {
      const AlgorithmChoice choice = choose_algorithm(kind, DType::f32, spread);
      for (const CollectiveAlgorithm one : {choice.small, choice.large}) {
        CollectiveTraffic before;
        for (double bytes = 0; bytes < 1e11; bytes = bytes * 1.3 + 1) {
          const CollectiveTraffic traffic = traffic_of(one, kind, bytes, spread);
          for (const auto number : {&CollectiveTraffic::read, &CollectiveTraffic::written, &CollectiveTraffic::meetings,
                                    &CollectiveTraffic::turns, &CollectiveTraffic::steps, &CollectiveTraffic::sent,
                                    &CollectiveTraffic::first}) {
            EXPECT_TRUE(std::isfinite(traffic.*number)) << name_of(one);
            EXPECT_GE(traffic.*number, before.*number) << name_of(one) << " " << name_of(kind) << " " << bytes;
          }
          before = traffic;
        }
      }
    }
  }
}

TEST(CollectiveAlgorithm, ChunksFitASegment) {
  for (int64_t ranks = 1; ranks <= kMaxSharedRanks; ++ranks) {
    const int64_t chunk = shared_chunk_bytes(ranks);
    EXPECT_EQ(chunk % kSharedLineBytes, 0);
    EXPECT_LE(2 * ranks * chunk, 4 << 20);
    EXPECT_EQ(chunk == 256 << 10, ranks <= 8) << ranks;
  }
}

}  // namespace
}  // namespace partita

#include "base/collective_algorithm.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace partita {
namespace {

// Sharing the work of a call among threads needs a second meeting, which is cheap only if nobody has to block. These
// bytes are those of all ranks together.
constexpr int64_t kLastRankBytes = 8 << 10, kLastRankBytesBlocking = 128 << 10;

// A chunk is small enough to stay in the caches, and large enough that copying it costs much more than a meeting.
constexpr int64_t kMaxSharedChunk = 256 << 10, kAllSharedChunks = 4 << 20;  // two chunks per rank

constexpr Collective kAll[] = {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
                               Collective::all_to_all, Collective::broadcast,  Collective::split,
                               Collective::barrier};
constexpr std::span<const Collective> kMoving = std::span(kAll).first(5), kAllButBarrier = std::span(kAll).first(6);
constexpr Collective kReducing[] = {Collective::all_reduce, Collective::reduce_scatter};
constexpr Collective kCopying[] = {Collective::all_gather, Collective::broadcast};
constexpr Collective kWaiting[] = {Collective::barrier};

/// The call of a communicator that does a collective.
Collective called(Collective collective) {
  const bool is_exchange = collective == Collective::permute || collective == Collective::halo_exchange;
  return is_exchange ? Collective::all_to_all : collective;
}

bool has_data(Collective collective) {
  return std::find(kMoving.begin(), kMoving.end(), called(collective)) != kMoving.end();
}

AlgorithmChoice choose_of_threads(Collective collective, const RankSpread& ranks, bool has_last_rank) {
  if (!has_last_rank) return {CollectiveAlgorithm::direct, CollectiveAlgorithm::direct};
  if (!has_data(collective)) return {CollectiveAlgorithm::last_rank, CollectiveAlgorithm::last_rank};
  const int64_t most = ranks.have_cores ? kLastRankBytes : kLastRankBytesBlocking;
  return {CollectiveAlgorithm::last_rank, CollectiveAlgorithm::direct,
          static_cast<double>(most + 1) / static_cast<double>(ranks.ranks)};
}

/// Returns the algorithm of long calls in which ranks of a host combine what they send to other hosts; `exchange` if
/// messages alone are better.
CollectiveAlgorithm choose_by_host(Collective collective, DType dtype, const RankSpread& ranks) {
  // Sums of 16-bit floats are rounded once, at the end; in a chain, partial sums would be rounded too.
  const bool is_rounded = is_half(dtype);
  switch (collective) {
    case Collective::all_gather:
    case Collective::broadcast: return CollectiveAlgorithm::host_shares;
    case Collective::all_reduce: return is_rounded ? CollectiveAlgorithm::exchange : CollectiveAlgorithm::chain;
    // With messages alone a host sends (hosts - 1) / hosts of a buffer per rank; in a chain it sends one buffer.
    case Collective::reduce_scatter: {
      const bool is_less = ranks.min_per_host * (ranks.hosts - 1) > ranks.hosts;
      return is_less && !is_rounded ? CollectiveAlgorithm::chain : CollectiveAlgorithm::exchange;
    }
    default: return CollectiveAlgorithm::exchange;
  }
}

/// Returns how many chunks `bytes` bytes are cut into: 1 or more.
double chunks_of(double bytes, int64_t chunk) { return std::max(1.0, std::ceil(bytes / static_cast<double>(chunk))); }

CollectiveTraffic operator+(CollectiveTraffic a, const CollectiveTraffic& b) {
  a.read += b.read, a.written += b.written, a.meetings += b.meetings, a.turns += b.turns, a.steps += b.steps;
  a.sent += b.sent, a.first += b.first;
  return a;
}

/// Bytes that a rank reads and writes where it reads the buffers of its peers.
CollectiveTraffic direct_traffic(Collective collective, double bytes, double ranks) {
  switch (collective) {
    case Collective::reduce_scatter: return {.read = bytes, .written = bytes / ranks};
    case Collective::halo_exchange: return {.read = 2 * bytes, .written = 2 * bytes};
    default: return has_data(collective) ? CollectiveTraffic{.read = bytes, .written = bytes} : CollectiveTraffic{};
  }
}

/// Bytes that a rank copies into and out of the segment, chunk by chunk.
CollectiveTraffic shared_traffic(Collective collective, double bytes, int64_t ranks) {
  const auto n = static_cast<double>(ranks);
  const int64_t chunk = shared_chunk_bytes(ranks);
  // Chunks of a buffer, of a rank's part of it, and of messages for which a chunk has as much room as for all ranks.
  const double chunks = chunks_of(bytes, chunk), gathered = chunks_of(bytes / n, chunk),
               sent = chunks_of(n * bytes, chunk);
  switch (collective) {
    case Collective::all_reduce: {
      if (shares_reduction(ranks))
        return {.read = 3 * bytes, .written = (2 + 1 / n) * bytes, .meetings = 2 * chunks, .turns = chunks};
      return {.read = (1 + n) * bytes, .written = 2 * bytes, .meetings = chunks, .turns = chunks};
    }
    case Collective::all_gather: {
      return {.read = (1 + 1 / n) * bytes, .written = (1 + 1 / n) * bytes, .meetings = gathered, .turns = gathered};
    }
    case Collective::reduce_scatter:
      return {.read = 2 * bytes, .written = (1 + 1 / n) * bytes, .meetings = chunks, .turns = chunks};
    case Collective::all_to_all: return {.read = 2 * bytes, .written = 2 * bytes, .meetings = chunks, .turns = chunks};
    case Collective::permute: return {.read = 2 * bytes, .written = 2 * bytes, .meetings = sent, .turns = sent};
    case Collective::halo_exchange: {
      return {.read = 4 * bytes, .written = 4 * bytes, .meetings = sent, .turns = sent};
    }
    case Collective::broadcast: {  // the root copies a chunk while the others read the one before
      const double moved = bytes + std::min(bytes, static_cast<double>(chunk));
      return {.read = moved, .written = moved, .meetings = chunks, .turns = chunks};
    }
    default: return {.meetings = 1, .turns = 1};
  }
}

/// Messages of each rank to each other one.
CollectiveTraffic exchange_traffic(Collective collective, double bytes, double ranks, double per_host) {
  const double others = per_host * (ranks - per_host) / ranks;  // bytes that leave a host, per byte of a buffer
  switch (collective) {
    case Collective::all_reduce: {
      const double rounds = chunks_of(bytes, kMaxMessageBytes);
      return {.read = bytes, .written = bytes / ranks, .steps = 2 * rounds, .sent = 2 * others * bytes};
    }
    case Collective::reduce_scatter: {
      return {.read = bytes, .written = bytes / ranks, .steps = 1, .sent = others * bytes};
    }
    case Collective::broadcast: return {.steps = 1, .sent = (ranks - per_host) * bytes};
    case Collective::permute: return {.steps = 1, .sent = per_host * bytes};
    case Collective::halo_exchange: return {.steps = 1, .sent = 2 * per_host * bytes};
    default: return {.steps = 1, .sent = others * bytes};
  }
}

/// A sum that passes from host to host, between steps in the memory of each host.
CollectiveTraffic chain_traffic(Collective collective, double bytes, const RankSpread& ranks) {
  const auto hosts = static_cast<double>(ranks.hosts), owners = static_cast<double>(ranks.min_per_host);
  const bool returns = collective == Collective::all_reduce;
  const CollectiveTraffic owned = shared_traffic(Collective::all_to_all, bytes, ranks.min_per_host);
  const CollectiveTraffic spread = returns ? shared_traffic(Collective::all_gather, bytes, ranks.min_per_host)
                                           : shared_traffic(Collective::all_to_all, bytes / hosts, ranks.min_per_host);
  // An owner adds the contributions of its host to its share of the sum before.
  const CollectiveTraffic passed{.read = (1 + 1 / owners) * bytes,
                                 .written = bytes / owners,
                                 .steps = returns ? 2 * (hosts - 1) : hosts,
                                 .sent = returns && hosts > 2 ? 2 * bytes : bytes,
                                 .first = std::min(bytes, owners * static_cast<double>(kChainChunkBytes))};
  return owned + passed + spread;
}

/// Bytes that each host receives once, split among its ranks, which then share them in memory.
CollectiveTraffic host_shares_traffic(Collective collective, double bytes, const RankSpread& ranks) {
  const auto hosts = static_cast<double>(ranks.hosts);
  if (collective == Collective::broadcast) {
    CollectiveTraffic traffic = shared_traffic(Collective::all_gather, bytes, ranks.min_per_host);
    traffic.steps = 1, traffic.sent = (hosts - 1) * bytes;
    return traffic;
  }
  // The bytes of each host are gathered on their own.
  CollectiveTraffic traffic = shared_traffic(Collective::all_gather, bytes / hosts, ranks.min_per_host);
  traffic.read *= hosts, traffic.written *= hosts, traffic.meetings *= hosts, traffic.turns *= hosts;
  traffic.steps = 1, traffic.sent = (hosts - 1) / hosts * bytes;
  return traffic;
}

}  // namespace

std::span<const AlgorithmInfo> runtime_algorithms() {
  static constexpr AlgorithmInfo kInfos[] = {
      {CollectiveAlgorithm::last_rank, "threads", "the last rank to arrive does the parts of all ranks", kAll},
      {CollectiveAlgorithm::direct, "threads", "each rank reads its part from the buffers of all ranks", kMoving},
      {CollectiveAlgorithm::shared_memory, "processes of a host",
       "each rank copies chunks into a memory segment, from which the others read them", kAll},
      {CollectiveAlgorithm::exchange, "processes", "each rank sends each other rank its part in a message",
       kAllButBarrier},
      {CollectiveAlgorithm::chain, "processes of several hosts",
       "each host adds its contributions to the sum of the host before and passes it on", kReducing},
      {CollectiveAlgorithm::host_shares, "processes of several hosts",
       "the ranks of a host receive a share each and exchange the shares in memory", kCopying},
      {CollectiveAlgorithm::dissemination, "processes",
       "each rank tells the one 1, 2, 4, .. ranks after it which ranks have arrived", kWaiting}};
  return kInfos;
}

int64_t shared_chunk_bytes(int64_t ranks) {
  const int64_t lines = kAllSharedChunks / (2 * ranks) / kSharedLineBytes;
  return std::clamp(lines * kSharedLineBytes, kSharedLineBytes, kMaxSharedChunk);
}

RankSpread spread_of_threads(int64_t threads, int64_t cores) {
  return {.ranks = threads,
          .min_per_host = threads,
          .max_per_host = threads,
          .are_threads = true,
          .have_cores = threads <= cores};
}

AlgorithmChoice choose_algorithm(Collective collective, DType dtype, const RankSpread& ranks,
                                 std::span<const CollectiveAlgorithm> among) {
  const auto has = [&](CollectiveAlgorithm one) { return std::find(among.begin(), among.end(), one) != among.end(); };
  if (ranks.are_threads) return choose_of_threads(collective, ranks, has(CollectiveAlgorithm::last_rank));
  const bool share_memory = ranks.share_memory && ranks.max_per_host <= kMaxSharedRanks;
  AlgorithmChoice choice{CollectiveAlgorithm::exchange, CollectiveAlgorithm::exchange};
  if (ranks.hosts == 1 && share_memory) {
    choice.small = choice.large = CollectiveAlgorithm::shared_memory;
  } else if (collective == Collective::barrier) {
    choice.small = choice.large = CollectiveAlgorithm::dissemination;
  } else if (share_memory && ranks.max_per_host > 1) {
    choice.large = choose_by_host(collective, dtype, ranks);
  }
  if (!has(choice.small)) choice.small = CollectiveAlgorithm::exchange;
  if (!has(choice.large)) choice.large = CollectiveAlgorithm::exchange;
  if (choice.large != choice.small) choice.threshold = kMinHostBytes;
  return choice;
}

CollectiveTraffic traffic_of(CollectiveAlgorithm algorithm, Collective collective, double bytes,
                             const RankSpread& ranks) {
  const auto n = static_cast<double>(ranks.ranks), per_host = static_cast<double>(ranks.min_per_host);
  switch (algorithm) {
    case CollectiveAlgorithm::last_rank: {
      const CollectiveTraffic part = direct_traffic(collective, bytes, n);
      return {.read = n * part.read, .written = n * part.written, .meetings = 1, .turns = 1};
    }
    case CollectiveAlgorithm::direct: {
      CollectiveTraffic traffic = direct_traffic(collective, bytes, n);
      traffic.meetings = 2, traffic.turns = 1;
      return traffic;
    }
    case CollectiveAlgorithm::shared_memory: return shared_traffic(collective, bytes, ranks.ranks);
    case CollectiveAlgorithm::exchange: return exchange_traffic(collective, bytes, n, per_host);
    case CollectiveAlgorithm::chain: return chain_traffic(collective, bytes, ranks);
    case CollectiveAlgorithm::host_shares: return host_shares_traffic(collective, bytes, ranks);
    case CollectiveAlgorithm::dissemination: return {.steps = std::ceil(std::log2(n) - 1e-9)};
    default: PARTITA_CHECK(false, "{} is not of the runtime", name_of(algorithm));
  }
}

}  // namespace partita

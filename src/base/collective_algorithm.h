#pragma once
// The algorithms of collectives. Those of this project's runtime are listed here once: what each does, which of them
// runs a call, and what it moves. The runtime chooses by `choose_algorithm`, and prices count by `traffic_of`.

#include <cstdint>
#include <span>
#include <string_view>

#include "base/collective.h"
#include "base/dtype.h"
#include "base/names.h"

namespace partita {

/// An algorithm of a collective. The first four are of other libraries, and only prices know them.
enum class CollectiveAlgorithm {
  ring,
  tree,
  hierarchical,
  in_network,
  last_rank,
  direct,
  shared_memory,
  exchange,
  chain,
  host_shares,
  dissemination
};
constexpr auto value_names(CollectiveAlgorithm) {
  return names("ring", "tree", "hierarchical", "in_network", "last_rank", "direct", "shared_memory", "exchange",
               "chain", "host_shares", "dissemination");
}

/// The algorithms of the runtime.
inline constexpr CollectiveAlgorithm kRuntimeAlgorithms[] = {
    CollectiveAlgorithm::last_rank,    CollectiveAlgorithm::direct, CollectiveAlgorithm::shared_memory,
    CollectiveAlgorithm::exchange,     CollectiveAlgorithm::chain,  CollectiveAlgorithm::host_shares,
    CollectiveAlgorithm::dissemination};

/// Whether the runtime has the algorithm.
constexpr bool is_of_runtime(CollectiveAlgorithm algorithm) { return algorithm >= CollectiveAlgorithm::last_rank; }

/// Describes an algorithm of the runtime.
struct AlgorithmInfo {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::direct;
  std::string_view ranks;    // the ranks that use it, such as "threads"
  std::string_view meaning;  // one sentence, without the full stop
  std::span<const Collective> collectives;
};
/// Returns the descriptions of `kRuntimeAlgorithms`, in that order.
std::span<const AlgorithmInfo> runtime_algorithms();

/// Maximum number of ranks that share a memory segment.
inline constexpr int kMaxSharedRanks = 64;
/// Bytes of a call from which on ranks of one host combine what they send to other hosts. Shorter calls are faster with
/// messages alone.
inline constexpr int64_t kMinHostBytes = int64_t{64} << 10;
/// Maximum bytes of a message. An all-reduce of more is done in rounds.
inline constexpr int64_t kMaxMessageBytes = int64_t{64} << 20;
/// Bytes of a chunk that a host passes on to the next one in a chain.
inline constexpr int64_t kChainChunkBytes = int64_t{256} << 10;
/// Alignment of chunks in a memory segment, in bytes; keeps ranks from sharing a cache line.
inline constexpr int64_t kSharedLineBytes = 128;

/// Returns the bytes of one of the chunk buffers that each of `ranks` ranks has in their memory segment.
int64_t shared_chunk_bytes(int64_t ranks);
/// Whether each of `ranks` ranks reduces a share of a chunk for all, rather than the whole chunk for itself. Then the
/// ranks meet twice for each chunk of an all-reduce.
constexpr bool shares_reduction(int64_t ranks) { return ranks > 2; }

/// How the ranks of a group lie on hosts.
struct RankSpread {
  int64_t ranks = 1, hosts = 1;
  int64_t min_per_host = 1, max_per_host = 1;  // ranks of the group on a host
  bool are_threads = false;                    // whether ranks are threads of one process; else each is a process
  bool have_cores = true;                      // whether each thread has a core of its own
  /// Whether the ranks of each host share a memory segment; on several hosts, they are also consecutive in the group.
  bool share_memory = true;
};

/// Returns the spread of threads of one process that may use `cores` cores.
RankSpread spread_of_threads(int64_t threads, int64_t cores);

/// The algorithms of a collective in a group: `small` runs calls of fewer than `threshold` bytes, `large` the others.
/// Bytes are those of the buffer that each rank passes, or their mean if ranks pass different numbers.
struct AlgorithmChoice {
  CollectiveAlgorithm small = CollectiveAlgorithm::exchange, large = small;
  double threshold = 0;

  CollectiveAlgorithm of(double bytes) const { return bytes < threshold ? small : large; }
  bool operator==(const AlgorithmChoice&) const = default;
};

/// Returns the algorithms that run a collective of elements of `dtype`. `permute` and `halo_exchange` are calls of
/// all_to_all. Prices can leave some algorithms out of `among`: then `direct` replaces `last_rank`, and `exchange` any
/// other one. `among` has `direct` if the ranks are threads, else `exchange`.
AlgorithmChoice choose_algorithm(Collective collective, DType dtype, const RankSpread& ranks,
                                 std::span<const CollectiveAlgorithm> among = kRuntimeAlgorithms);

/// The bytes that a call moves, and how often ranks wait. A price multiplies each number by a rate of the machine.
struct CollectiveTraffic {
  double read = 0, written = 0;  // in the memory of a host, by the rank that moves most
  double meetings = 0;           // times that all ranks of a host wait for each other
  double turns = 0;              // times that each rank of a host needs a core: chunks, each with 1 or 2 meetings
  double steps = 0;              // messages between hosts, or ranks, that wait for one another
  double sent = 0;               // out of the host that sends most
  double first = 0;              // part of `sent` that a host has before the next one can begin
};

/// Returns what `algorithm` moves in a call of `bytes` bytes, counted as collective_seconds.h does. Parts of ranks are
/// taken to be equal, and hosts to have `min_per_host` ranks each. More bytes never move less.
CollectiveTraffic traffic_of(CollectiveAlgorithm algorithm, Collective collective, double bytes,
                             const RankSpread& ranks);

}  // namespace partita

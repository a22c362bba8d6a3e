#pragma once
// The layout of a segment that ranks share, and the state that they read of each other.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/collective_algorithm.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/reduce.h"
#include "runtime/comm/event_count.h"

namespace partita {

inline constexpr size_t kSegmentLine = kSharedLineBytes;

/// A call without pointers, which other processes can read. The lists of its counts, or members, are stored elsewhere.
struct Announcement {
  Collective kind = Collective::barrier, named = Collective::barrier;
  DType dtype = DType::u8;
  Reduce reduce = Reduce::none;
  int root = -1;
  int64_t count = 0;
  int64_t listed = 0, received = 0;  // lengths of the lists
};

struct alignas(kSegmentLine) RankState {
  std::atomic<uint64_t> meetings{0};  // number of meetings at which the rank has arrived, for messages
  std::atomic<bool> left{false};
  Announcement announced[2];  // for even and odd calls: a slow rank may still read that of the previous call
};

/// `state` is twice the number of meetings that all ranks passed, plus one if the current one failed.
struct alignas(kSegmentLine) SegmentHead {
  EventCount event{EventCount::Scope::host};
  alignas(kSegmentLine) std::atomic<uint64_t> state{0};
  alignas(kSegmentLine) std::atomic<uint64_t> arrivals{0};  // summed over all meetings so far
  std::atomic<int> left{0};                                 // number of ranks that have left
  std::atomic<bool> explained{false};                       // `failure` and `code` are complete
  ExitCode code = ExitCode::peer_stalled;
  char failure[512] = "";
};

/// Addresses in a segment: the head, and for each rank its state, the lists of its calls, and its two chunk buffers.
class SegmentLayout {
 public:
  /// `segment` begins at a multiple of kSegmentLine in every process. Throws InternalError otherwise.
  SegmentLayout(void* segment, int ranks);

  /// Returns the bytes of a segment for a group of this many ranks.
  static size_t bytes(int ranks);
  /// Initializes the segment. Call it once, before any rank uses it.
  void prepare() const;

  int ranks() const { return ranks_; }
  SegmentHead& head() const;
  RankState& rank_state(int rank) const;
  /// Returns the lists of call number `call` of a rank: two lists with one number per rank each, the counts or members,
  /// then the received counts. They stay until call number `call` + 2.
  int64_t* lists(int rank, uint64_t call) const;
  std::byte* chunk_buffer(int rank, uint64_t chunk) const;
  size_t chunk_bytes() const { return chunk_bytes_; }

 private:
  std::byte* segment_;
  int ranks_;
  size_t chunk_bytes_;
};

}  // namespace partita

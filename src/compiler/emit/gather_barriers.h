#pragma once
// Keeps a compiler from gathering all shards of parameters at the beginning of a program.

#include <deque>
#include <optional>

#include "compiler/emit/segments.h"

namespace partita {

/// Passes shards that a program gathers anew in each phase (`is_regather`) through barriers. A compiler would otherwise
/// gather each once for all phases, and as early as it can. Each goes through a barrier with what was computed last
/// before the gathers that may be ahead of it: those of as many bytes as the largest has, or of a few buckets.
class GatherBarriers {
 public:
  /// `local` outlives this object.
  GatherBarriers(const Segment& segment, const Schedule& schedule, const LocalGraph& local);

  /// Declares the first result of a computation.
  void computed(const Hlo& result) { last_ = result; }
  /// Returns what the collective `node` takes in place of `operand`: another value if it gathers a shard anew, after
  /// the first ones. Writes a barrier into `body` then.
  Hlo in_time(NodeId node, const Hlo& operand, HloBody& body);

 private:
  struct Begun {
    int64_t bytes = 0;  // bytes of all gathers before this one
    Hlo last;           // what was computed last before it
  };
  int64_t bytes_of(NodeId node) const { return local_.graph.type(local_.graph.nodes[node].outputs[0]).bytes(); }

  const LocalGraph& local_;
  int64_t ahead_ = 0;        // bytes that may be ahead
  int64_t gathered_ = 0;     // bytes so far
  std::deque<Begun> begun_;  // gathers that are ahead, and the one before these
  std::optional<Hlo> last_;
};

}  // namespace partita

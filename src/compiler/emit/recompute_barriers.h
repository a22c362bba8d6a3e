#pragma once
// Keeps a compiler from merging recomputed nodes with their originals.

#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "compiler/emit/segments.h"

namespace partita {

/// Passes values through one barrier of the compiler and returns its results. None of them is there before all values
/// are.
std::vector<Hlo> emit_barrier(HloBody& body, const std::vector<Hlo>& values);

/// Passes what recomputed nodes of a segment take through barriers. A compiler would otherwise find that they compute
/// what the forward pass computes, and keep its results. A gradient of the node that uses them first goes through the
/// same barrier, so that nothing is recomputed before that gradient is there.
class RecomputeBarriers {
 public:
  /// The arguments outlive this object. `places` are those of the schedule.
  RecomputeBarriers(const Segment& segment, const Schedule& schedule, const LocalGraph& local,
                    const std::vector<int>& places)
      : segment_(segment), schedule_(schedule), local_(local), places_(places) {}

  /// Returns the operands that instruction `i`, a computation, takes instead of `inputs`: others for a recomputed node,
  /// unless its own group makes them. Writes a barrier into `body` where one is needed. `values` has the value of each
  /// place before the instruction.
  std::vector<Hlo> guarded(size_t i, const std::vector<Hlo>& inputs, const std::unordered_map<int, Hlo>& values,
                           HloBody& body);
  /// Declares the results of instruction `i`, a computation.
  void declare(size_t i, const std::vector<Hlo>& results);
  /// Declares that `now` is used from here on in place of `value`, with the same numbers but in padding.
  void declare_same(const Hlo& value, const Hlo& now);

 private:
  struct Group {
    std::set<std::string> made{};         // names of results
    std::map<std::string, Hlo> passed{};  // by name: values that went through a barrier
  };
  /// The group of a recomputed instruction, "" for others.
  std::string_view group_of(size_t i) const;
  bool is_gradient(size_t i) const;
  std::vector<Hlo> operands_from(size_t i, const Group& group, const std::unordered_map<int, Hlo>& values) const;
  const Hlo* gradient_for(size_t i, const std::unordered_map<int, Hlo>& values) const;

  const Segment& segment_;
  const Schedule& schedule_;
  const LocalGraph& local_;
  const std::vector<int>& places_;
  std::map<std::string, Group, std::less<>> groups_;
  std::map<std::string, Hlo> gradients_;  // by name
  std::string last_gradient_;             // name of the one made last
};

}  // namespace partita

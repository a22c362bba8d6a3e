#pragma once
// The order of all instructions of a pipeline in which the first bad node of a step is looked for.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/schedule/stage_program.h"

namespace partita {

/// Places of instructions among those of all stages: lower stages first, and after them once more, in the opposite
/// order of the stages, for computations of the backward pass.
class InstructionPlaces {
 public:
  /// `stages` outlives the object.
  explicit InstructionPlaces(const std::vector<StageProgram>& stages) : stages_(stages) {}

  /// Returns the place of an instruction of a stage.
  int64_t of(size_t stage, size_t instruction) const;
  /// Names the node of the instruction at a place: "first made by .."; none: no node made what is bad.
  std::string describe(std::optional<int64_t> place) const;

 private:
  int64_t count(size_t stage) const;
  std::pair<size_t, size_t> at(int64_t place) const;

  const std::vector<StageProgram>& stages_;
};

}  // namespace partita

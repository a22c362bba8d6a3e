#pragma once
// An update inside of programs that keeps the old states after a step that is not good, so that the host need not look
// at the step before it.

#include <optional>

#include "compiler/schedule/schedule.h"
#include "ir/graph/hlo.h"

namespace partita {

class Segmenter;

/// A step is good if no id of it is out of range, all steps before it were good since the host has looked and, if the
/// host asks for that, its loss is finite and kFinite, where that is an output, not 0. All ranks find the same.
struct UpdateGuard {
  int loss = -1, finite = -1;  // places of the outputs "loss" and kFinite; -1: there is none
  bool checks_ids = false;     // whether programs check ids, of which ranks have different ones
};

/// Returns the guard of a stage's update. None: nothing is updated, the host performs a part of the update, or the
/// ranks cannot tell one another in a program.
std::optional<UpdateGuard> update_guard_of(const Segmenter& segmenter);

/// Names of the operands of a guarded program: whether all was good before it, and whether the loss must be finite.
inline constexpr const char* kGoodOperand = "%was_good";
inline constexpr const char* kFiniteOperand = "%must_be_finite";

/// Writes whether no check of ids found one out of range. `flags`: results of emit_id_flag, at least one.
Hlo emit_ids_are_good(HloBody& body, const std::vector<Hlo>& flags);
/// Writes whether the step is good on all ranks: `good` says so of this one's ids and of the steps before. `loss` and
/// `finite` are null if there is no such output.
Hlo emit_is_good(HloBody& body, const UpdateGuard& guard, const Mesh& mesh, const Hlo& good, const Hlo* loss,
                 const Hlo* finite);
/// Writes the choice of a whole value by a scalar.
Hlo emit_choice(HloBody& body, const Hlo& condition, const Hlo& if_true, const Hlo& if_false);

}  // namespace partita

#include "compiler/emit/update_guard.h"

#include <algorithm>

#include "compiler/autodiff/training_graph.h"
#include "compiler/emit/emit_collective.h"
#include "compiler/emit/segments.h"
#include "ir/graph/emit_call.h"

namespace partita {
namespace {

Hlo both(HloBody& body, const Hlo& a, const Hlo& b) { return body.add_same("stablehlo.and", {a, b}); }

}  // namespace

std::optional<UpdateGuard> update_guard_of(const Segmenter& segmenter) {
  const Schedule& schedule = segmenter.schedule();
  const LocalGraph& local = segmenter.local();
  if (local.mesh.ranks() > 1 && segmenter.mode() == CollectiveMode::cut) return std::nullopt;
  const auto update = schedule.instructions.begin() + static_cast<std::ptrdiff_t>(schedule.update());
  if (update == schedule.instructions.end()) return std::nullopt;
  const auto in_program = [&](const Instruction& instruction) { return segmenter.in_program(instruction); };
  if (!std::all_of(update, schedule.instructions.end(), in_program)) return std::nullopt;
  UpdateGuard guard;
  for (size_t i = 0; i < local.graph.outputs.size(); ++i) {
    const int place = segmenter.places()[static_cast<size_t>(schedule.outputs[i])];
    if (local.graph.outputs[i].name == "loss") guard.loss = place;
    if (local.graph.outputs[i].name == kFinite) guard.finite = place;
  }
  guard.checks_ids = std::ranges::any_of(segmenter.id_checks(), [](const IdCheck& check) { return check.in_program; });
  return guard;
}

Hlo emit_ids_are_good(HloBody& body, const std::vector<Hlo>& flags) {
  const EmitCall call = call_in(body);
  std::optional<Hlo> good;
  for (const Hlo& flag : flags) {
    const Type one{flag.type.dtype, {1}};
    const Hlo outside = call.reshape(body.add_typed("stablehlo.slice", {flag}, " [0:1]", one), {});
    const Hlo is_good = call.compare("EQ", outside, call.splat_integer(0, outside.type));
    good = good ? both(body, *good, is_good) : is_good;
  }
  return *good;
}

Hlo emit_is_good(HloBody& body, const UpdateGuard& guard, const Mesh& mesh, const Hlo& good, const Hlo* loss,
                 const Hlo* finite) {
  const EmitCall call = call_in(body);
  Hlo all = guard.checks_ids && mesh.ranks() > 1 ? emit_on_all_ranks(body, mesh, good) : good;
  const Type flag{DType::boolean, {}};
  std::optional<Hlo> numbers;
  if (loss != nullptr) numbers = body.add_typed("stablehlo.is_finite", {*loss}, "", flag);
  if (finite != nullptr) {
    const Hlo gradients = call.compare("NE", *finite, call.splat(0, finite->type));
    numbers = numbers ? both(body, *numbers, gradients) : gradients;
  }
  if (!numbers) return all;
  const Hlo need_not = body.add_same("stablehlo.not", {{kFiniteOperand, flag}});
  return both(body, all, body.add_same("stablehlo.or", {*numbers, need_not}));
}

Hlo emit_choice(HloBody& body, const Hlo& condition, const Hlo& if_true, const Hlo& if_false) {
  return call_in(body).select(condition, if_true, if_false);
}

}  // namespace partita

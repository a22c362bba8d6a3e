#include "runtime/execute/xla/id_checker.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <utility>

#include "runtime/execute/xla/with_place.h"

namespace partita {

/// Calls `check` with the check of an instruction's op, and its arguments on this rank in a micro-batch.
void IdChecker::call_check(size_t instruction, int64_t micro_batch,
                           const std::function<void(const IdOperand&, const OpCall&)>& check) const {
  const NodeId node = parts_.schedule.instructions[instruction].node;
  const IdOperand& ids = parts_.ops.at(parts_.local.graph.nodes[node].op).traits.ids;
  with_call(parts_.segmenter, parts_.local, node, parts_.local.mesh.coordinates(parts_.rank, micro_batch),
            [&](const OpCall& call) { check(ids, call); });
}

/// Returns the number of ids of an instruction on this rank.
int64_t IdChecker::elements_of(size_t instruction) const {
  const Instruction& checked = parts_.schedule.instructions[instruction];
  const IdOperand& ids = parts_.ops.at(parts_.local.graph.nodes[checked.node].op).traits.ids;
  return parts_.buffers.type_of(checked.inputs[ids.operand]).elements();
}

void IdChecker::require_on_host(const Segment& segment, DeviceValues& values) const {
  const int64_t micro_batch = parts_.buffers.micro_batch();
  for (const IdCheck& one : parts_.segmenter.id_checks()) {
    if (one.in_program || one.instruction < segment.begin || one.instruction >= segment.end) continue;
    call_check(one.instruction, micro_batch, [&](const IdOperand& checked, const OpCall& call) {
      require_ids(checked, call, {call.inputs[checked.operand], values.on_host(one.place, micro_batch)});
    });
  }
}

void IdChecker::add(const Segment& segment, pjrt::Buffer flags) {
  found_.push_back({step_, segment.checks, parts_.buffers.micro_batch(), std::move(flags)});
}

void IdChecker::require(int64_t steps_ago) {
  const auto later = std::ranges::find_if(found_, [&](const Found& one) { return one.step > step_ - steps_ago; });
  std::vector<Found> found(std::move_iterator(found_.begin()), std::move_iterator(later));
  found_.erase(found_.begin(), later);
  if (found.empty()) return;
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  const int64_t ranks = parts_.local.mesh.ranks();
  std::vector<std::pair<size_t, int64_t>> checks;  // instructions and micro-batches
  int64_t first = kNone;                           // number of the check, times ranks, plus the rank
  std::array<int64_t, 2> outside{};                // the id and its place in the operand
  for (const Found& one : found) {
    std::vector<int64_t> flags(2 * one.checks.size());
    with_place([&](const Error&) { return "checks of ids, which come from the device" + parts_.owner; },
               [&] {
                 one.flags.download(Tensor{{DType::i64, {static_cast<int64_t>(flags.size())}}, flags.data()});
               });
    for (size_t k = 0; k < one.checks.size(); ++k) {
      if (first == kNone && flags[2 * k] != 0) {
        first = static_cast<int64_t>(checks.size()) * ranks + parts_.rank;
        outside = {flags[2 * k + 1], elements_of(one.checks[k]) - flags[2 * k]};
      }
      checks.emplace_back(one.checks[k], one.micro_batch);
    }
  }
  if (ranks > 1) {
    parts_.ranks->all_reduce(&first, 1, DType::i64, Reduce::min);
    if (first != kNone) parts_.ranks->broadcast(outside.data(), 2, DType::i64, static_cast<int>(first % ranks));
  }
  if (first == kNone) return;
  const auto [instruction, micro_batch] = checks[static_cast<size_t>(first / ranks)];
  call_check(instruction, micro_batch,
             [&](const IdOperand& checked, const OpCall& call) { checked.require(call, outside[0], outside[1]); });
  PARTITA_CHECK(false, "a program refused {}, which its node takes", outside[0]);
}

}  // namespace partita

#pragma once
// Runs of each group of a pipeline in a step before the verdict, and the points where it sends and receives.

#include <optional>

#include "compiler/schedule/stage_program.h"

namespace partita {

/// Consecutive instructions of one stage's schedule, run for one micro-batch; micro-batch 0 for what runs once.
struct Run {
  int stage = 0;
  Section section = Section::once;
  size_t begin = 0, end = 0;
  int64_t micro_batch = 0;
  bool begins_section = true;
};

/// Returns the runs of a group of ranks up to the verdict, in order: what runs once, lowest stage first; the prologues,
/// each for all micro-batches and then its joined section; the slots of the sequence, or all micro-batches in order
/// without stages; and the late section, whose forward pass runs from the lowest stage up, whose backward pass from the
/// highest down, and whose rest from the lowest up.
std::vector<Run> timeline(const Pipeline& pipeline, const std::vector<StageProgram>& stages, int group);

/// Per transfer: the instruction of the sender after which it is sent; none: where its section begins.
using SendPoint = std::optional<size_t>;
std::vector<SendPoint> send_points(const Pipeline& pipeline, const std::vector<StageProgram>& stages);

/// Returns for each transfer the index of the one that brings its sender the value, if the sender only forwards it
/// (directly or as a view); the sender waits for that one where the section begins that sends the value. None for a
/// transfer with a send point, and for a value that the sender did not receive before the verdict.
std::vector<std::optional<size_t>> relayed_transfers(const Pipeline& pipeline, const std::vector<StageProgram>& stages);

/// Returns for each instruction of a stage's schedule the indices of the transfers that it waits for, in the order of
/// its operands. The first instruction that reads a value, directly or as a view, waits for it: those after it in the
/// same micro-batch need not. For a value that is sent in the section `once`, the first instruction of the reader's
/// section waits unless that is `once`, too, so that programs of accelerators are not cut for it.
std::vector<std::vector<size_t>> transfers_read(const Pipeline& pipeline, const std::vector<StageProgram>& stages,
                                                int stage);

/// Returns the indices of the transfers that a run sends, without those of the verdict, in order: first those sent
/// where it begins, then those after each instruction.
std::vector<size_t> sent_by(const Run& run, const Pipeline& pipeline, const std::vector<SendPoint>& points);

/// Checks that the sequence has all slots of the stages (ir/orders/check.h), that its weight slots fit the stages, and
/// that the stages keep as many copies as it has in flight. Throws InvalidArgument otherwise. Throws it, too, if groups
/// would wait for one another forever, with who waits for what.
void verify(const Pipeline& pipeline, const std::vector<StageProgram>& stages);

}  // namespace partita

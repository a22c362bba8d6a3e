#pragma once
// What the groups of a pipeline run in a step before the verdict, and where in it they send and receive.

#include <optional>

#include "compiler/schedule/stage_program.h"

namespace partita {

/// Instructions of one stage's schedule, one behind the other, for a micro-batch; 0 for what runs once.
struct Run {
  int stage = 0;
  Section section = Section::once;
  size_t begin = 0, end = 0;
  int64_t micro_batch = 0;
  bool begins_section = true;
};

/// Of a group of ranks, up to the verdict: what runs once, lowest stage first; their prologues; the slots of the
/// sequence, or of one stage one micro-batch behind the other; what is late, in which values pass upwards in the
/// forward and downwards in the backward.
std::vector<Run> timeline(const Pipeline& pipeline, const std::vector<StageProgram>& stages, int group);

/// Of a transfer: the instruction of the sender behind which it is sent; none: where its section begins.
using SendPoint = std::optional<size_t>;
std::vector<SendPoint> send_points(const Pipeline& pipeline, const std::vector<StageProgram>& stages);

/// Of a transfer without a point whose value is a received one, as it is or as a view of it: the transfer that brings
/// it. It is waited for where the section begins.
std::vector<std::optional<size_t>> relayed_transfers(const Pipeline& pipeline, const std::vector<StageProgram>& stages);

/// Of a stage's schedule: for each instruction the transfers that it needs.
std::vector<std::vector<size_t>> transfers_read(const Pipeline& pipeline, const std::vector<StageProgram>& stages,
                                                int stage);

/// The transfers that a run sends, in their order: those of its beginning and those behind each instruction.
std::vector<size_t> sent_by(const Run& run, const Pipeline& pipeline, const std::vector<SendPoint>& points);

/// Throws InvalidArgument unless the sequence has all slots of the stages (ir/orders/check.h), which keep as many
/// copies as it has in flight, and when the groups would wait for one another without end: that names who waits for
/// what.
void verify(const Pipeline& pipeline, const std::vector<StageProgram>& stages);

}  // namespace partita

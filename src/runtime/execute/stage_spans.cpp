#include "runtime/execute/stage_spans.h"

#include "compiler/partition/collectives.h"

namespace partita {

void StageSpans::record(Recorder* recorder, int stage, int thread) {
  recorder_ = recorder;
  stage_ = stage;
  asynchronous_thread_ = thread;
}

Span StageSpans::of(size_t index) const {
  return {.kind = Span::instruction,
          .stage = stage_,
          .index = static_cast<int32_t>(index),
          .micro_batch = static_cast<int32_t>(buffers_.micro_batch()),
          .exposed = is_exposed(schedule_.instructions[index])};
}

Span StageSpans::of_asynchronous(size_t instruction) const {
  Span span = of(instruction);
  span.thread = asynchronous_thread_;
  return span;
}

bool StageSpans::is_exposed(const Instruction& instruction) const {
  if (instruction.kind != Instruction::collective) {
    return instruction.kind == Instruction::reduce || instruction.kind == Instruction::wait;
  }
  return !is_local(*collective_of(local_.graph.nodes[instruction.node]));
}

}  // namespace partita

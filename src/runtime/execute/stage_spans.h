#pragma once
// Describes the instructions of one stage as spans in the record of a rank.

#include "runtime/execute/stage_buffers.h"
#include "runtime/trace/recorder.h"

namespace partita {

class StageSpans {
 public:
  /// The arguments outlive this object.
  StageSpans(const LocalGraph& local, const Schedule& schedule, const StageBuffers& buffers)
      : local_(local), schedule_(schedule), buffers_(buffers) {}

  /// Sets the recorder that `recorder` returns, and the stage that all spans name. `thread` is the one that spans of
  /// `of_asynchronous` name. A null recorder means that nothing is recorded.
  void record(Recorder* recorder, int stage, int thread);
  /// The recorder, or null if nothing is recorded.
  Recorder* recorder() const { return recorder_; }
  /// Span of an instruction in the current micro-batch, without times: on the thread that runs instructions (`of`) or
  /// on the communication thread (`of_asynchronous`). It is exposed if the instruction is a reduce, a wait or a
  /// collective that communicates.
  Span of(size_t instruction) const;
  Span of_asynchronous(size_t instruction) const;

 private:
  bool is_exposed(const Instruction& instruction) const;

  const LocalGraph& local_;
  const Schedule& schedule_;
  const StageBuffers& buffers_;
  Recorder* recorder_ = nullptr;
  int stage_ = 0, asynchronous_thread_ = 0;
};

}  // namespace partita

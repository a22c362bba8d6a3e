#pragma once
// What the instructions of one stage are in the record of a rank.

#include "runtime/execute/stage_buffers.h"
#include "runtime/trace/recorder.h"

namespace partita {

class StageSpans {
 public:
  /// The arguments outlive this.
  StageSpans(const LocalGraph& local, const Schedule& schedule, const StageBuffers& buffers)
      : local_(local), schedule_(schedule), buffers_(buffers) {}

  /// From now on instructions are spans of this stage; `thread` is that of its asynchronous collectives.
  void record(Recorder* recorder, int stage, int thread);
  /// None: null.
  Recorder* recorder() const { return recorder_; }
  /// Of an instruction in the micro-batch that runs, on the thread that runs instructions or on that of collectives.
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

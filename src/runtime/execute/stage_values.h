#pragma once
// The values of one stage on a rank: in the host's memory, or on an accelerator whose programs compute them.

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/finite.h"
#include "ir/sharding/rule.h"
#include "runtime/execute/stage_buffers.h"
#include "runtime/trace/recorder.h"

namespace partita {

class DeviceValues;

/// Outputs of a step that has ended, before another one takes their places.
struct StepNumbers {
  std::optional<Array> loss;         // the output "loss"; none: there is no such output
  bool has_finite_gradients = true;  // the output kFinite
  /// Whether the loss and the gradients are finite.
  bool are_finite() const {
    return has_finite_gradients &&
           (!loss || partita::are_finite(loss->type().dtype, loss->data(), loss->type().elements()));
  }
};

/// The values of a stage and the programs that compute them, for the thread that runs the schedule. HostValues is the
/// form of the host, without programs; StagePrograms is that of an accelerator. What a function does by default is
/// right for the host.
class StageValues {
 public:
  virtual ~StageValues() = default;

  /// Brings the value of a buffer in a micro-batch to the host's memory and returns its address there. Waits for the
  /// program that computes it, and throws its error. Throws the failed update's kind of error for a state that it lost.
  virtual char* on_host(int buffer, int64_t micro_batch) = 0;
  /// Declares that the value of a buffer in a micro-batch was written in the host's memory.
  virtual void written(int /*buffer*/, int64_t /*micro_batch*/) {}
  /// Waits for the programs that compute the values of buffers in a micro-batch, if the host's memory lacks them, and
  /// records when they have ended. Leaves their errors to `on_host`.
  virtual void await(std::span<const int> /*buffers*/, int64_t /*micro_batch*/) {}
  /// Returns the values of the accelerator; null if they are the host's.
  virtual DeviceValues* on_device() { return nullptr; }
  /// Forgets all values but states, and the inputs of a next step.
  virtual void keep_states_alone() {}

  /// Sets an input to the elements of `given` inside `box`, this rank's part, where programs alone read it. Returns
  /// false if the host is to have it. Throws RuntimeFailure(out_of_memory) if there is too little memory.
  virtual bool takes_input(int /*buffer*/, ConstTensor /*given*/, const Box& /*box*/) { return false; }
  /// Whether inputs of a next step can wait on the accelerator: there are no micro-batches, and there is memory for
  /// them and a tenth of all more, as far as the plugin says.
  virtual bool has_room_for_next() const { return false; }
  /// Sets an input of the next step: on the accelerator if programs read it, and in the host's memory if that reads it.
  /// Call it only if there is room. Throws as `takes_input` does.
  virtual void set_next_input(int /*buffer*/, ConstTensor /*given*/, const Box& /*box*/) {}
  /// Makes the inputs of the next step those of the step that begins, and returns whether there was any. Other inputs
  /// stay as they are.
  virtual bool use_next_inputs() { return false; }
  virtual void forget_next_inputs() {}

  /// Returns the action of an instruction that is a part of a program; none if the host performs it.
  virtual std::function<void()> program_action(size_t /*instruction*/) { return nullptr; }
  /// Returns `action`, which reads and writes the values of these buffers in the host's memory, with what has to come
  /// before and after it.
  virtual std::function<void()> host_action(std::vector<int> /*read*/, std::vector<int> /*written*/,
                                            std::function<void()> action) {
    return action;
  }
  /// Whether an instruction has a span of its own, which it completes. Returns false for one inside a program that an
  /// earlier one starts.
  virtual bool has_span(size_t /*instruction*/, Span& /*span*/) const { return true; }
  /// Declares that an instruction has run: values that nobody reads after it are released.
  virtual void ran(size_t /*instruction*/) {}
  /// Whether each instruction runs by itself, so that all results can be looked at.
  virtual void run_singly(bool /*singly*/) {}
  /// Checks ids and labels that programs of an accelerator were given since the last call: waits for those that check
  /// some, and is then a collective call over the stage's ranks. Throws the kernel's InvalidArgument, on all of them,
  /// for an id out of range. Throws as `finish` does, and LostRanks.
  virtual void require_ids() {}
  /// Waits for all programs, and checks ids as `require_ids` does. Throws the error of the first program that failed:
  /// what it computes is lost then.
  virtual void finish() {}
  /// Declares that a step begins. `must_be_finite`: whether a guarded update keeps the states if the loss or the
  /// gradients are not finite.
  virtual void begin_step(bool /*must_be_finite*/) {}
  /// Whether programs keep the states of a step that is not good (compiler/emit/update_guard.h), so that its update
  /// starts before the host has seen the loss. Then `started_step` and `await_step` take the place of `finish`.
  virtual bool guards_update() const { return false; }
  /// Whether a step may begin while the one before it runs: the update is guarded, programs do all of a step, and there
  /// is memory for the inputs of both.
  virtual bool can_run_ahead() const { return false; }
  /// Declares that all programs of the step that has begun were started. Only if the update is guarded.
  virtual void started_step() {}
  /// Number of steps that were started and not awaited.
  virtual size_t steps_in_flight() const { return 0; }
  /// Waits for the oldest step that was started and not awaited, and checks its ids as `require_ids` does. If its
  /// numbers are not finite, waits for those after it too, which have changed nothing, and makes the inputs those of
  /// this step again; the next step may update. Throws as `finish` does: nothing is in flight then. Only if the update
  /// is guarded.
  virtual StepNumbers await_step() { return {}; }
  /// Starts recording each program as a span of `stage` on the trace's thread `thread`; stops if `recorder` is null.
  virtual void record(Recorder* /*recorder*/, int /*stage*/, int /*thread*/) {}
  /// Calls `call` once, when the next program has been started, unless another call replaces it before.
  virtual void call_after_start(std::function<void()> /*call*/) {}
};

/// Values at their addresses in StageBuffers, which kernels of the host compute.
class HostValues : public StageValues {
 public:
  /// `buffers` outlives this object.
  explicit HostValues(const StageBuffers& buffers) : buffers_(buffers) {}
  char* on_host(int buffer, int64_t micro_batch) override { return buffers_.copy_of(buffer, micro_batch); }

 private:
  const StageBuffers& buffers_;
};

}  // namespace partita

#pragma once
// Runs of programs that nobody has waited for.

#include <atomic>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/pjrt/client.h"
#include "runtime/trace/recorder.h"

namespace partita {

/// The runs of a stage, oldest first. For the thread that starts them.
class RunsInFlight {
 public:
  /// Says where an error of a run comes from, as `with_place` takes it.
  using Describe = std::function<std::string(const Error&)>;

  /// Starts recording each run that is added from now on as a span of `stage` on the trace's thread `thread`; stops if
  /// `recorder` is null.
  void record(Recorder* recorder, int stage, int thread);
  /// The recorder, or null if nothing is recorded.
  Recorder* recorder() const { return recorder_; }

  size_t count() const { return runs_.size(); }
  /// Declares that another step begins.
  void begin_step() { ++step_; }
  /// Adds a run, which computes the places `outputs`: they outlive it. `span` has the instructions, the micro-batch and
  /// the begin of what a recorder gets.
  void add(pjrt::Completion done, Describe describe, const std::vector<int>& outputs, const Span& span);
  /// Declares that the values of places in a micro-batch are computed. So the runs that compute them have ended, and
  /// those before them, since a device runs one after another. The plugin may tell of an end much later.
  void have_computed(const std::vector<int>& places, int64_t micro_batch);
  /// Waits for the oldest run. Returns its error, or null.
  std::exception_ptr await_oldest();
  /// Waits for the runs of steps that began `steps_ago` steps or more ago. Returns the error of the first that failed,
  /// or null.
  std::exception_ptr await_steps(int64_t steps_ago);
  /// Waits for all runs. Returns the error of the first that failed, or null.
  std::exception_ptr await_all();

 private:
  struct Run {
    pjrt::Completion done;
    Describe describe;
    const std::vector<int>* outputs;
    int64_t step = 0;
    std::optional<Span> span{};                     // if it is recorded
    std::shared_ptr<std::atomic<int64_t>> ended{};  // time of its end, 0 before it is known
  };
  void add_span(Run& run);

  std::deque<Run> runs_;
  Recorder* recorder_ = nullptr;
  int stage_ = 0, thread_ = 0;
  int64_t step_ = 0;
};

}  // namespace partita

#pragma once
// The record of a training: a folder with its configuration, its log, and a file of events.
//
//   configuration.toml  the completed configuration (job/toml.h)
//   log.jsonl           one line per step (training/report/jsonl.h)
//   events.jsonl        one JSON object per line, with "event" and "time" (UTC):
//     begin        "version", "host", "model", "ranks", "threads", "device", "batch", "steps", "steps_per_epoch",
//                  "first_step", "parameters", "rank_memory_bytes" (largest arena of a rank), "available_memory_bytes",
//                  and "predicted" with "cluster", "step_seconds", "compute_seconds", "exposed_seconds",
//                  "bubble_seconds" of the group of ranks that computes longest
//     ranks        "step", "steps", "busy_seconds": time of each rank in these steps without exposed communication
//     warning      "step", "message"
//     checkpoint   "step", "path"
//     test         "step", "loss", and "accuracy" if the network classifies
//     end          "step", "seconds", "reason": "" after the last step, else why the training ended
//
// A resumed training appends to all three. Keys are only ever added.

#include <atomic>
#include <chrono>
#include <mutex>

#include "job/config.h"
#include "training/report/jsonl.h"

namespace partita {

/// Seconds in which each rank did not wait for others, of the last `steps` steps.
struct RankTimes {
  int64_t step = 0, steps = 0;
  std::vector<double> busy_seconds{};
};

/// Paths of the files of a run.
std::string log_of_run(const std::string& folder);
std::string events_of_run(const std::string& folder);
std::string configuration_of_run(const std::string& folder);

/// Creates the folder unless it exists, and checks that a training may begin in it. Unless it `goes_on`, or a launcher
/// has restarted the job, the folder must not hold a run. Throws InvalidArgument otherwise, and
/// RuntimeFailure(cannot_write) if the folder cannot be created.
void require_new_run(const std::string& folder, bool goes_on);

/// Writes the folder of `config.files.run`. Files are opened when a training begins. If later writes fail, one warning
/// says so, and the training continues. Events may come from several threads.
class RunFolder : public Callback {
 public:
  using Warn = std::function<void(const std::string&)>;
  /// Opens nothing yet. `warn` and `must_end`: see JsonLines.
  RunFolder(const JobConfig& config, Warn warn, std::function<bool()> must_end = nullptr);
  ~RunFolder() override { close(); }
  RunFolder& operator=(RunFolder&&) = delete;

  /// Creates the files, and the folder unless it exists, and predicts a step. Throws RuntimeFailure(cannot_write) if
  /// they cannot be written, and as JsonLines does. Throws what `predict_step` throws for a cluster that the
  /// configuration names.
  void on_train_begin(const TrainInfo& info) override;
  void on_step_end(const StepInfo& info) override;
  bool may_lag(int64_t) const override { return true; }
  void on_validation(const ValidationInfo& info) override { log_.on_validation(info); }

  /// Each records an event. A warning before the training begins is kept until then; all others are ignored before it.
  void add_warning(const std::string& message);
  void add_times(const RankTimes& times);
  void add_checkpoint(int64_t step, const std::string& path);
  void add_test(const Metrics& metrics);
  /// Records the end and closes the file. `reason`: "" if the training took all of its steps.
  void end(const std::string& reason);

 private:
  void close();
  std::string begin_event(const TrainInfo& info) const;
  std::string predicted(const Program& program) const;
  /// Writes an event whose fields, such as `,"step":3`, follow its kind and the time.
  void write(std::string_view kind, const std::string& fields);

  const JobConfig& config_;
  const std::string folder_;
  Warn warn_;
  JsonLines log_;
  std::mutex mutex_;
  std::vector<std::string> early_;  // warnings before the training began
  int file_ = -1;
  std::atomic<int64_t> step_ = 0;  // last step logged
  std::chrono::steady_clock::time_point begin_{};
};

}  // namespace partita

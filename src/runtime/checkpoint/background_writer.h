#pragma once
// Writes files while a training continues.

#include <functional>
#include <future>
#include <thread>

namespace partita {

/// Runs jobs that write files, one at a time, on a thread with lower priority than the steps.
class BackgroundWriter {
 public:
  /// Waits for the previous job. If that failed, drops `job` and rethrows the error. Otherwise runs `job`: on a thread
  /// of its own if `background`, else at once, and passes on what it throws. Throws RuntimeFailure(out_of_memory) if
  /// the thread cannot be started.
  void write(std::function<void()> job, bool background);
  /// Whether the last job is still running.
  bool is_busy() const;
  /// Waits for the last job and rethrows its error, once. Does nothing if there is none, or it was waited for already.
  void finish();

 private:
  std::future<void> job_;
  std::jthread thread_;
};

}  // namespace partita

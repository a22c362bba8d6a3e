#pragma once
// Writes files while a training goes on.

#include <functional>
#include <future>
#include <memory>
#include <thread>

namespace partita {

/// One file after the other, of one rank, by a thread that leaves the processors to the steps.
class BackgroundWriter {
 public:
  /// Runs `job` now, or on a thread of its own; after the one before, whose error is thrown here.
  void write(std::function<void()> job, bool background);
  /// The last job is not done yet.
  bool is_busy() const;
  /// Until the last job is done; throws its error.
  void finish();

 private:
  std::future<void> job_;
  std::jthread thread_;
};

}  // namespace partita

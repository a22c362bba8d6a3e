#pragma once
// Writes files while a training goes on.

#include <functional>
#include <future>
#include <memory>
#include <thread>

namespace partita {

/// One file after the other; of one rank.
class BackgroundWriter {
 public:
  /// Runs `job` now, or on a thread of its own; after the one before, whose error is thrown here.
  void write(std::function<void()> job, bool background);
  /// Until the last job is done; throws its error.
  void finish();

 private:
  std::future<void> job_;
  std::jthread thread_;
};

}  // namespace partita

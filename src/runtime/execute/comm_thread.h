#pragma once
// Runs asynchronous collectives, overlapped with computation: jobs run in order on a dedicated thread.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace partita {

class CommThread {
 public:
  CommThread();
  /// Waits for the running job. Drops jobs that have not begun.
  ~CommThread();

  /// Queues `job` and returns its number, counted from 1.
  int64_t start(std::function<void()> job);
  /// Blocks until this job and all jobs before it have ended. When a job fails, the jobs queued after it are dropped.
  /// Rethrows the first error of any job, once.
  void wait(int64_t job);

 private:
  void loop();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  int64_t started_ = 0, ended_ = 0;
  bool stop_ = false;
  std::exception_ptr error_;
  std::jthread thread_;  // last: it uses the other members
};

}  // namespace partita

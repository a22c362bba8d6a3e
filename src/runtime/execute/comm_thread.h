#pragma once
// Runs asynchronous collectives, overlapped with computation: jobs run in order on a dedicated thread.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace partita {

class CommThread {
 public:
  CommThread();
  /// Waits for the running job to end. Drops jobs that have not begun, and an error that `wait` has not rethrown.
  ~CommThread();

  /// Queues `job`, to be run on the thread after all jobs queued before, and returns its number, counted from 1.
  int64_t start(std::function<void()> job);
  /// Blocks until the job with this number and all before it have ended, or any job has failed. When a job fails, those
  /// queued after it are dropped and count as ended. Rethrows the first error that no call has rethrown yet, of
  /// whichever job.
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

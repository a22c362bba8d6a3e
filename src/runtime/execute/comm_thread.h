#pragma once
// Asynchronous collectives, overlapped with the computation: jobs run in their order on a thread of their own.

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
  /// Waits for the running job; jobs that have not begun are dropped.
  ~CommThread();

  /// The number of the job, from 1.
  int64_t start(std::function<void()> job);
  /// Until this job and those before it have ended; rethrows the first error of one.
  void wait(int64_t job);

 private:
  void loop();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  int64_t started_ = 0, ended_ = 0;
  bool stop_ = false;
  std::exception_ptr error_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace partita

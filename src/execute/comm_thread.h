#pragma once
// Asynchronous collectives, overlapped with the computation: jobs run in their order on a thread of their own.

#include <condition_variable>
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

  void start(std::function<void()> job);
  /// Until every started job has ended; rethrows the first error of one.
  void wait();

 private:
  void loop();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool busy_ = false, stop_ = false;
  std::exception_ptr error_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace partita

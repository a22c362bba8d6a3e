#include "runtime/execute/comm_thread.h"

#include <utility>

#include "base/resources.h"

namespace partita {

CommThread::CommThread() : thread_(start_thread("a thread that communicates", [this] { loop(); })) {}

CommThread::~CommThread() {
  {
    const std::lock_guard lock(mutex_);
    jobs_.clear();
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

int64_t CommThread::start(std::function<void()> job) {
  int64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    number = ++started_;
  }
  changed_.notify_all();
  return number;
}

void CommThread::wait(int64_t job) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ >= job || error_; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void CommThread::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    std::exception_ptr error;
    try {
      job();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    ++ended_;
    if (error) {  // jobs queued after the failed one do not run
      if (!error_) error_ = error;
      ended_ += static_cast<int64_t>(jobs_.size());
      jobs_.clear();
    }
    changed_.notify_all();
  }
}

}  // namespace partita

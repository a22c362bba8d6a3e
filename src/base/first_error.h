#pragma once
// An exception that leaves a thread of a team.

#include <exception>
#include <mutex>

namespace partita {

/// Keeps the first exception of several threads, for the one that waits for them.
class FirstError {
 public:
  /// Called in a handler; true for the first error.
  bool keep() {
    const std::lock_guard lock(mutex_);
    if (error_ != nullptr) return false;
    error_ = std::current_exception();
    return true;
  }
  /// Calls `fn` and keeps what it throws: an exception must not leave a parallel region.
  template <class Fn>
  void run(Fn&& fn) {
    try {
      fn();
    } catch (...) {
      keep();
    }
  }
  /// Threads may ask at any time, whether there is something left for them to do.
  bool is_kept() const {
    const std::lock_guard lock(mutex_);
    return error_ != nullptr;
  }
  /// When all threads have ended.
  void rethrow() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  mutable std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace partita

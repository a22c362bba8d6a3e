#pragma once
// Carries an exception out of a team of threads.

#include <exception>
#include <mutex>

namespace partita {

/// Keeps the first exception of several threads, for the thread that waits for them.
class FirstError {
 public:
  /// Keeps the exception being handled, unless one is kept already. Returns whether it was the first. Called in a catch
  /// block, from any thread.
  bool keep() {
    const std::lock_guard lock(mutex_);
    if (error_ != nullptr) return false;
    error_ = std::current_exception();
    return true;
  }
  /// Calls `fn` and, as `keep` does, keeps what it throws. For parallel regions, which an exception must not leave.
  template <class Fn>
  void run(Fn&& fn) {
    try {
      fn();
    } catch (...) {
      keep();
    }
  }
  /// Whether an error was kept. May be called from any thread at any time, to find out if work is left.
  bool is_kept() const {
    const std::lock_guard lock(mutex_);
    return error_ != nullptr;
  }
  /// Rethrows the kept exception, if any. Called after all threads have ended.
  void rethrow() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  mutable std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace partita

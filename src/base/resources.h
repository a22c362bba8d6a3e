#pragma once
// Threads and memory, requested so that a lack of them is an error instead of the end of the process.

#include <pthread.h>
#include <sys/types.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace partita {

/// Lock held while code runs that ends the process if it gets no memory, such as a library that generates code. There
/// is one lock per process: while it is held, other reservations and `start_thread` wait.
class Reservation {
 public:
  /// Bytes that cover what such a library needs at a time.
  static constexpr size_t kUsual = size_t{32} << 20;
  /// Waits for its turn, then checks that the system maps `bytes` more for this process; 0 skips the check, for code
  /// that reports a lack of memory itself. Throws RuntimeFailure(out_of_memory), naming `what`, if it does not.
  explicit Reservation(std::string_view what, size_t bytes = kUsual);

 private:
  std::lock_guard<std::mutex> lock_;
};

/// Idle threads that live as long as the object: proof that this many threads can be started.
class WaitingThreads {
 public:
  /// Starts `count` threads with stacks of `stack_bytes` bytes; 0 = the default size. Throws
  /// RuntimeFailure(out_of_memory), naming `what`, if one cannot be started; those already started have ended by then.
  WaitingThreads(int count, std::string_view what, size_t stack_bytes = 0);
  ~WaitingThreads() { release(); }
  WaitingThreads& operator=(WaitingThreads&&) = delete;

 private:
  static void* wait(void* self);
  /// Ends the threads, and returns once the system no longer counts them.
  void release();

  std::mutex mutex_;
  std::condition_variable released_;
  bool is_released_ = false;
  std::vector<pthread_t> threads_;
  std::vector<pid_t> ids_;
};

/// Calls `start`, which returns an error number or 0, until it returns anything but EAGAIN: at most 50 times, 1 ms
/// apart. A thread that has just ended still counts towards the limit. Returns the last result.
template <class Start>
int start_patiently(Start&& start) {
  constexpr int kAttempts = 50;
  int failure = start();
  for (int i = 1; i < kAttempts && failure == EAGAIN; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    failure = start();
  }
  return failure;
}

/// Throws RuntimeFailure(out_of_memory): `what` cannot be started, for `reason`.
[[noreturn]] void throw_cannot_start(std::string_view what, std::string_view reason);

/// Starts a thread that runs `body`. Throws RuntimeFailure(out_of_memory), naming `what`, if it cannot be started.
template <class Body>
std::jthread start_thread(std::string_view what, const Body& body) {
  const Reservation reservation(what, 0);
  std::jthread thread;
  const int failure = start_patiently([&] {
    try {
      thread = std::jthread(body);
      return 0;
    } catch (const std::system_error& error) {
      return error.code().value();
    }
  });
  if (failure != 0) throw_cannot_start(what, std::generic_category().message(failure));
  return thread;
}

}  // namespace partita

#pragma once
// Threads and memory, asked for in a way that makes a lack of them an error rather than the end of the process.

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

/// Held while code runs that ends the process when it gets no memory, as a library that generates code. While one is
/// held, nothing that takes this class, or starts threads by the functions here, gets any.
class Reservation {
 public:
  /// Enough for all that such a library needs at a time.
  static constexpr size_t kUsual = size_t{32} << 20;
  /// Throws RuntimeFailure(out_of_memory), naming `what`, unless there are `bytes` of addresses and memory. 0: what
  /// follows reports a lack of memory itself.
  explicit Reservation(std::string_view what, size_t bytes = kUsual);

 private:
  std::lock_guard<std::mutex> lock_;
};

/// So many threads that do nothing, for as long as the object lives: proof that they can be started.
class WaitingThreads {
 public:
  /// Throws RuntimeFailure(out_of_memory), naming `what`, when one cannot be started. Stacks have `stack_bytes`; 0: as
  /// many as those of any new thread.
  WaitingThreads(int count, std::string_view what, size_t stack_bytes = 0);
  ~WaitingThreads() { release(); }
  WaitingThreads(const WaitingThreads&) = delete;
  WaitingThreads& operator=(const WaitingThreads&) = delete;

 private:
  static void* wait(void* self);
  /// Returns when the system counts them no more.
  void release();

  std::mutex mutex_;
  std::condition_variable released_;
  bool is_released_ = false;
  std::vector<pthread_t> threads_;
  std::vector<pid_t> ids_;
};

/// Calls `start`, which gives an error number or 0, again for a while as long as that is EAGAIN: a thread that has just
/// ended still counts.
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

[[noreturn]] void throw_cannot_start(std::string_view what, std::string_view reason);

/// A thread that runs `body`. Throws RuntimeFailure(out_of_memory), naming `what`, when it cannot be started.
template <class Body>
std::jthread start_thread(std::string_view what, const Body& body) {
  const Reservation turn(what, 0);
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

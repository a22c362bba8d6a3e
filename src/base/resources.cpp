#include "base/resources.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace partita {
namespace {

/// The mutex of all reservations. One for the process, since memory and threads are limits of the process.
std::mutex& reservation_mutex() {
  static std::mutex mutex;
  return mutex;
}

bool can_map(size_t bytes) {
  void* pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return false;
  ::munmap(pages, bytes);
  return true;
}

}  // namespace

Reservation::Reservation(std::string_view what, size_t bytes) : lock_(reservation_mutex()) {
  if (bytes == 0 || can_map(bytes)) return;
  throw RuntimeFailure(ExitCode::out_of_memory,
                       "[memory] out of memory for {}, got less than {} MiB, expected more: try a smaller batch, fewer "
                       "ranks or a higher limit (ulimit -v)",
                       what, bytes >> 20);
}

void throw_cannot_start(std::string_view what, std::string_view reason) {
  throw RuntimeFailure(
      ExitCode::out_of_memory,
      "[threads] cannot start {}, got '{}', expected fewer ranks or threads, or higher limits (ulimit -u, ulimit -v)",
      what, reason);
}

WaitingThreads::WaitingThreads(int count, std::string_view what, size_t stack_bytes) {
  threads_.reserve(static_cast<size_t>(std::max(0, count)));
  ids_.reserve(threads_.capacity());
  pthread_attr_t attributes;
  int failure = ::pthread_attr_init(&attributes);
  if (failure == 0 && stack_bytes > 0) failure = ::pthread_attr_setstacksize(&attributes, stack_bytes);
  while (failure == 0 && static_cast<int>(threads_.size()) < count) {
    pthread_t thread;
    failure = start_patiently([&] { return ::pthread_create(&thread, &attributes, &WaitingThreads::wait, this); });
    if (failure == 0) threads_.push_back(thread);
  }
  ::pthread_attr_destroy(&attributes);
  if (failure == 0) return;
  const size_t started = threads_.size();
  release();
  throw_cannot_start(fmt::format("{} threads ({})", count, what),
                     fmt::format("{} after {}", std::strerror(failure), started));
}

void* WaitingThreads::wait(void* self) {
  auto& threads = *static_cast<WaitingThreads*>(self);
  std::unique_lock lock(threads.mutex_);
  threads.ids_.push_back(::gettid());
  threads.released_.wait(lock, [&] { return threads.is_released_; });
  return nullptr;
}

void WaitingThreads::release() {
  {
    const std::lock_guard lock(mutex_);
    is_released_ = true;
  }
  released_.notify_all();
  for (const pthread_t thread : threads_) ::pthread_join(thread, nullptr);
  for (const pid_t id : ids_) {
    while (::tgkill(::getpid(), id, 0) == 0) ::sched_yield();
  }
  threads_.clear();
}

}  // namespace partita

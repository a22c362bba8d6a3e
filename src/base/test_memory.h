#pragma once
// Out-of-memory conditions for tests, each in a process of its own.

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace partita {

/// Whether a memory limit has an effect in this program. Sanitizers reserve the whole address space.
inline bool can_use_up_memory() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return true;
#endif
}

enum class Left { nothing, small };  // small: a few hundred allocations of up to 100 bytes succeed

/// Makes every further allocation of this process fail, in all threads, except what `left` leaves and the runtime's
/// small reserve for exceptions.
inline void use_up_memory(Left left = Left::nothing) {
  constexpr size_t kSizes = 6, kOfEach = 200, kStep = 16;
  void* small[kSizes][kOfEach];
  for (size_t i = 0; i < kSizes; ++i) {
    for (void*& memory : small[i]) memory = std::malloc((i + 1) * kStep);
  }
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
  const rlimit limit{bytes, bytes};
  ::setrlimit(RLIMIT_AS, &limit);
  void* (*volatile allocate)(size_t) = &std::malloc;  // volatile, so that the compiler keeps the calls
  for (size_t size = size_t{1} << 30; size >= kStep; size /= 2) {
    while (allocate(size) != nullptr) {
    }
  }
  if (left == Left::nothing) return;
  for (auto& memories : small) {
    for (size_t i = 0; i < kOfEach; i += 2) std::free(memories[i]);  // no two adjacent blocks, which would be merged
  }
}

/// Touches 256 KiB of the main thread's stack. The stack grows on use, which a memory limit would prevent.
__attribute__((noinline)) inline void grow_stack() {
  volatile char used[256 << 10];
  for (size_t i = 0; i < sizeof used; i += 1024) used[i] = 0;
}

/// Calls `fn` and ends this process, with 0 if it returns true, else with 1. An alarm ends it after 30 seconds. For
/// EXPECT_EXIT in the "threadsafe" style, whose process is fresh: one that ran threads before has memory reserved for
/// them.
[[noreturn]] inline void exit_when_true(bool (*fn)()) {
  ::mallopt(M_ARENA_MAX, 1);  // or each thread would have memory reserved
  ::alarm(30);
  grow_stack();
  ::_exit(fn() ? 0 : 1);
}

}  // namespace partita

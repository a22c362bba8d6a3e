#pragma once
// What happens when memory runs out, tried by tests in a process of its own.

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace partita {

/// Whether a limit of memory means anything in this program: a sanitizer takes all addresses for itself.
inline bool can_use_up_memory() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return true;
#endif
}

enum class Left { nothing, small };  // small: some hundred allocations of up to 100 bytes

/// From now on every allocation fails in this process, in all threads, but for what is left, and the few that
/// exceptions have in reserve.
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
  void* (*volatile allocate)(size_t) = &std::malloc;  // calls that the compiler does not leave out
  for (size_t size = size_t{1} << 30; size >= kStep; size /= 2) {
    while (allocate(size) != nullptr) {
    }
  }
  if (left == Left::nothing) return;
  for (auto& memories : small) {
    for (size_t i = 0; i < kOfEach; i += 2) std::free(memories[i]);  // not two side by side, which would be one
  }
}

/// The stack of the first thread grows when it is used, which a limit of memory ends.
__attribute__((noinline)) inline void grow_stack() {
  volatile char used[256 << 10];
  for (size_t i = 0; i < sizeof used; i += 1024) used[i] = 0;
}

/// Ends this process with 0 when `fn` returns true, within half a minute. For EXPECT_EXIT in the "threadsafe" style,
/// whose process is fresh: one that ran threads before has memory set aside for them.
[[noreturn]] inline void exit_when_true(bool (*fn)()) {
  ::mallopt(M_ARENA_MAX, 1);  // or each thread has memory set aside
  ::alarm(30);
  grow_stack();
  ::_exit(fn() ? 0 : 1);
}

}  // namespace partita

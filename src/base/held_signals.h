#pragma once
// Keeps signal handlers off threads that compute. Matrix products of oneDNN before 3.12 let the stack pointer of their
// thread point into memory from malloc (github.com/uxlfoundation/oneDNN/issues/4845). A handler that runs on such a
// thread overwrites what lies below.

#include <csignal>

namespace partita {

/// Blocks, on the calling thread, each signal that is not the thread's own fault: SIGSEGV, SIGBUS, SIGFPE, SIGILL,
/// SIGTRAP, SIGSYS and SIGABRT still arrive. Threads that it starts inherit this.
void hold_signals();

/// Holds the signals of the calling thread until the end of the scope. A signal to the process goes to another thread
/// or, if all of them hold it, arrives at the end of the scope.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals& operator=(HeldSignals&&) = delete;

 private:
  friend class ReleasedSignals;
  sigset_t before_;
  const HeldSignals* outer_;
};

/// Gives the calling thread the signals that the outermost HeldSignals holds, until the end of the scope: for a user's
/// function within a step, which may wait or start processes. Does nothing on a thread that holds none so.
class ReleasedSignals {
 public:
  ReleasedSignals();
  ~ReleasedSignals();
  ReleasedSignals& operator=(ReleasedSignals&&) = delete;

 private:
  bool is_released_;
  sigset_t held_;
};

}  // namespace partita

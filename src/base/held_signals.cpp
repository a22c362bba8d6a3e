#include "base/held_signals.h"

#include <pthread.h>

namespace partita {
namespace {

thread_local const HeldSignals* outermost = nullptr;

void hold(sigset_t* before) {
  sigset_t set;
  sigfillset(&set);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) sigdelset(&set, own);
  pthread_sigmask(SIG_BLOCK, &set, before);
}

}  // namespace

void hold_signals() { hold(nullptr); }

HeldSignals::HeldSignals() : outer_(outermost == nullptr ? this : outermost) {
  hold(&before_);
  outermost = outer_;
}

HeldSignals::~HeldSignals() {
  if (outer_ == this) outermost = nullptr;
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

ReleasedSignals::ReleasedSignals() : is_released_(outermost != nullptr) {
  if (is_released_) pthread_sigmask(SIG_SETMASK, &outermost->before_, &held_);
}

ReleasedSignals::~ReleasedSignals() {
  if (is_released_) pthread_sigmask(SIG_SETMASK, &held_, nullptr);
}

}  // namespace partita

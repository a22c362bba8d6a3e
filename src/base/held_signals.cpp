#include "base/held_signals.h"

#include <pthread.h>

namespace partita {
namespace {

void hold(sigset_t* before) {
  sigset_t set;
  sigfillset(&set);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) sigdelset(&set, own);
  pthread_sigmask(SIG_BLOCK, &set, before);
}

}  // namespace

void hold_signals() { hold(nullptr); }

HeldSignals::HeldSignals() { hold(&before_); }

HeldSignals::~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace partita

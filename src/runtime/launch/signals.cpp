#include "runtime/launch/signals.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace partita {
namespace {

constexpr std::array<int, 4> kSignals{SIGINT, SIGTERM, SIGHUP, SIGUSR1};

std::atomic<int> stop_signal{0};
std::atomic<int64_t> save_signals{0};
std::atomic<bool> has_reader{false};  // whether standard error is a terminal
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free &&
                  std::atomic<bool>::is_always_lock_free,
              "used in a signal handler");

void on_signal(int signal) {
  if (signal == SIGUSR1) {
    save_signals.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  int none = 0;
  if (stop_signal.compare_exchange_strong(none, signal, std::memory_order_relaxed)) {
    if (signal != SIGINT || !has_reader.load(std::memory_order_relaxed)) return;
    constexpr std::string_view kText =
        "\npartita: stopping after the current step or compilation; press Ctrl-C again to stop at once\n";
    const int before = errno;
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kText.data(), kText.size());
    errno = before;
    return;
  }
  // A second signal acts as without a guard. It is blocked during this function and delivered afterwards.
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  ::sigaction(signal, &usual, nullptr);
  ::raise(signal);
}

}  // namespace

SignalGuard::SignalGuard() {
  stop_signal = 0;
  save_signals = 0;
  has_reader = ::isatty(STDERR_FILENO) == 1;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
  }
}

SignalGuard::~SignalGuard() {
  for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
}

SignalRequests SignalGuard::requests() {
  return {stop_signal.load(std::memory_order_relaxed), save_signals.load(std::memory_order_relaxed)};
}

const char* signal_name(int signal) {
  switch (signal) {
    case SIGINT: return "SIGINT";
    case SIGTERM: return "SIGTERM";
    case SIGHUP: return "SIGHUP";
    case SIGUSR1: return "SIGUSR1";
    default: return "a signal";
  }
}

}  // namespace partita

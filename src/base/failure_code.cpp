#include "base/failure_code.h"

namespace partita {

ExitCode failure_of(int64_t code) {
  constexpr ExitCode kFailures[] = {ExitCode::usage,         ExitCode::bad_input,      ExitCode::missing_file,
                                    ExitCode::out_of_memory, ExitCode::cannot_write,   ExitCode::peer_lost,
                                    ExitCode::peer_stalled,  ExitCode::ranks_disagree, ExitCode::non_finite};
  constexpr int kMaxSignal = 64;
  for (const ExitCode failure : kFailures) {
    if (code == static_cast<int>(failure)) return failure;
  }
  const bool is_signal = code > kSignalExit && code <= kSignalExit + kMaxSignal;
  return is_signal ? static_cast<ExitCode>(code) : ExitCode::internal;
}

}  // namespace partita

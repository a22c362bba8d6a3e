#include "runtime/comm/clock_offset.h"

#include <limits>

namespace partita {
namespace {

constexpr int kClockRounds = 16;

void tell_time(Communicator& comm, int rank, const std::function<int64_t()>& now) {
  for (int round = 0; round < kClockRounds; ++round) {
    int64_t time = 0;
    comm.recv(&time, 1, DType::i64, rank);
    time = now();
    comm.send(&time, 1, DType::i64, rank);
  }
}

}  // namespace

ClockOffset clock_offset(Communicator& comm, const std::function<int64_t()>& now) {
  if (comm.rank() == 0) {
    for (int rank = 1; rank < comm.size(); ++rank) tell_time(comm, rank, now);
    return {.at = now()};
  }
  ClockOffset best{.error = std::numeric_limits<int64_t>::max()};
  for (int round = 0; round < kClockRounds; ++round) {
    const int64_t asked = now();
    int64_t time = asked;
    comm.send(&time, 1, DType::i64, 0);
    comm.recv(&time, 1, DType::i64, 0);
    const int64_t heard = now(), error = (heard - asked + 1) / 2;
    if (error < best.error) best = {.at = asked, .offset = time - (asked + (heard - asked) / 2), .error = error};
  }
  return best;
}

int64_t aligned_time(int64_t time, const ClockOffset& first, const ClockOffset& last) {
  if (last.at == first.at) return time + first.offset;
  const double part = static_cast<double>(time - first.at) / static_cast<double>(last.at - first.at);
  return time + first.offset + static_cast<int64_t>(part * static_cast<double>(last.offset - first.offset));
}

}  // namespace partita

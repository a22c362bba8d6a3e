#include "training/loop_events.h"

#include <algorithm>

#include "base/free_memory.h"

namespace partita {
namespace {

constexpr std::chrono::milliseconds kMemoryPeriod{50};
constexpr int64_t kGatherings = 200;  // about as many in the first steps, and in each later doubling of them

}  // namespace

std::optional<int64_t> LoopEvents::memory() {
  const auto now = std::chrono::steady_clock::now();
  if (!run_.measures_communication || comm_.rank() != 0 || now < next_memory_) return std::nullopt;
  next_memory_ = now + kMemoryPeriod;
  return resident_memory();
}

void LoopEvents::end_step(int64_t step, const StepInfo& taken) {
  if (!run_.rank_times) return;
  busy_ += std::max(0.0, taken.seconds - taken.exposed_communication.value_or(0));
  if (step < run_.info.steps && kGatherings * (step - gathered_) <= step - run_.info.first_step) return;
  RankTimes times{.step = step, .steps = step - gathered_};
  times.busy_seconds.resize(static_cast<size_t>(comm_.size()));
  const std::vector<int64_t> counts(times.busy_seconds.size(), 1);
  comm_.all_gather(&busy_, times.busy_seconds.data(), counts, DType::f64);
  gathered_ = step;
  busy_ = 0;
  if (comm_.rank() == 0) run_.rank_times(times);
}

void LoopEvents::end_saving(int64_t last_saved) {
  if (comm_.rank() != 0 || !run_.saved || last_saved == reported_) return;
  reported_ = last_saved;
  run_.saved(last_saved);
}

}  // namespace partita

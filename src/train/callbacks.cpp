#include "train/callbacks.h"

#include <fmt/format.h>

#include <algorithm>

namespace partita {
namespace {

/// The shortest text that reads back: of an f32 loss, the shortest for f32.
std::string shortest(double value) {
  const auto narrow = static_cast<float>(value);
  return static_cast<double>(narrow) == value ? fmt::format("{}", narrow) : fmt::format("{}", value);
}

}  // namespace

void LossMonitor::on_step_end(const StepInfo& info) {
  if (every_ <= 0 || info.global_step % every_ != 0) return;
  out_ << fmt::format("epoch: {} step: {}, loss is {}\n", info.epoch, info.step, shortest(info.loss));
  out_.flush();
}

void TimeMonitor::on_epoch_end(const EpochInfo& info) {
  const double milliseconds = 1e3 * info.seconds;
  out_ << fmt::format("epoch time: {:.3f} ms, per step time: {:.3f} ms\n", milliseconds,
                      milliseconds / static_cast<double>(std::max<int64_t>(1, info.steps)));
  out_.flush();
}

}  // namespace partita

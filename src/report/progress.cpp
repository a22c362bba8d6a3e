#include "report/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace partita {
namespace {

constexpr std::string_view kErase = "\r\033[K";
constexpr auto kPause = std::chrono::milliseconds(100);
constexpr double kNew = 0.1;  // weight of the newest step in the smoothed time

/// "3:12", "2:03:45".
std::string clock_text(double seconds) {
  const auto all = static_cast<int64_t>(seconds + 0.5);
  const int64_t hours = all / 3600, minutes = all / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, all % 60)
                   : fmt::format("{}:{:02}", minutes, all % 60);
}

}  // namespace

ProgressLine::~ProgressLine() {
  if (open_) out_ << kErase << std::flush;  // an error message has its own line
}

void ProgressLine::on_train_begin(const TrainInfo& info) {
  train_ = info;
  step_seconds_ = 0;
  drawn_ = {};
}

void ProgressLine::on_step_end(const StepInfo& info) {
  step_seconds_ = step_seconds_ == 0 ? info.seconds : (1 - kNew) * step_seconds_ + kNew * info.seconds;
  const auto now = Clock::now();
  if (now - drawn_ < kPause && info.global_step != train_.steps) return;
  drawn_ = now;
  open_ = true;
  out_ << kErase
       << fmt::format("epoch {}/{} step {}/{} loss {:.4f} {:.0f} samples/s {} left", info.epoch, train_.epochs,
                      info.step, train_.steps_per_epoch, info.loss, static_cast<double>(info.samples) / step_seconds_,
                      clock_text(static_cast<double>(train_.steps - info.global_step) * step_seconds_));
  out_.flush();
}

void ProgressLine::on_epoch_end(const EpochInfo& info) {
  open_ = false;
  out_ << kErase << fmt::format("epoch {}/{} mean loss {:.4f}", info.epoch, train_.epochs, info.loss);
  if (info.validation) out_ << fmt::format(" test accuracy {:.4f}", info.validation->accuracy());
  out_ << fmt::format(" in {}\n", clock_text(info.seconds));
  out_.flush();
}

bool is_terminal() {
  const char* kind = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && kind != nullptr && std::string_view(kind) != "dumb";
}

}  // namespace partita

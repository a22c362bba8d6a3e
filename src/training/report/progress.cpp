#include "training/report/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace partita {
namespace {

constexpr std::string_view kErase = "\r\033[K";
constexpr auto kPause = std::chrono::milliseconds(100);
constexpr double kNew = 0.1;  // weight of the latest step in the smoothed time
constexpr size_t kUnknownColumns = 80;

/// Returns a number of seconds as "3:12" or, from an hour on, "2:03:45".
std::string clock_text(double seconds) {
  const auto all = static_cast<int64_t>(seconds + 0.5);
  const int64_t hours = all / 3600, minutes = all / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, all % 60)
                   : fmt::format("{}:{:02}", minutes, all % 60);
}

}  // namespace

size_t terminal_columns() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUnknownColumns;
}

bool is_terminal() {
  const char* kind = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && kind != nullptr && std::string_view(kind) != "dumb";
}

DrawnLine::~DrawnLine() { erase(); }  // an error message gets its own line

bool DrawnLine::is_due(bool at_once) {
  const auto now = Clock::now();
  if (now - drawn_ < kPause && !at_once) return false;
  drawn_ = now;
  return true;
}

void DrawnLine::draw(const std::string& text) {
  open_ = true;
  // Text in the last column would wrap to a new line.
  out_ << kErase << text.substr(0, std::max<size_t>(columns_(), 2) - 1) << std::flush;
}

void DrawnLine::replace(const std::string& text) {
  open_ = false;
  out_ << kErase << text << "\n" << std::flush;
}

void DrawnLine::erase() {
  if (open_) out_ << kErase << std::flush;
  open_ = false;
}

void ProgressLine::on_train_begin(const TrainInfo& info) {
  train_ = info;
  step_seconds_ = 0;
}

void ProgressLine::on_step_end(const StepInfo& info) {
  step_seconds_ = step_seconds_ == 0 ? info.seconds : (1 - kNew) * step_seconds_ + kNew * info.seconds;
  if (!line_.is_due(/*at_once=*/info.global_step == train_.steps)) return;
  // The last epoch may be partial.
  const int64_t steps = std::min(train_.steps_per_epoch, train_.steps - (info.epoch - 1) * train_.steps_per_epoch);
  line_.draw(fmt::format("epoch {}/{} step {}/{} loss {:.4f} {:.0f} samples/s {} left", info.epoch, train_.epochs,
                         info.step, steps, info.loss, static_cast<double>(info.samples) / step_seconds_,
                         clock_text(static_cast<double>(train_.steps - info.global_step) * step_seconds_)));
}

void ProgressLine::on_validation(const ValidationInfo& info) {
  if (info.ends_epoch) return;
  line_.replace(fmt::format("epoch {}/{} step {} test loss {:.4f} test accuracy {:.4f}", info.epoch, train_.epochs,
                            info.step, info.metrics.loss, info.metrics.accuracy()));
}

void ProgressLine::on_epoch_end(const EpochInfo& info) {
  std::string text = fmt::format("epoch {}/{} mean loss {:.4f}", info.epoch, train_.epochs, info.loss);
  if (info.validation) text += fmt::format(" test accuracy {:.4f}", info.validation->accuracy());
  line_.replace(text + fmt::format(" in {}", clock_text(info.seconds)));
}

EvaluationProgress drawn_evaluation(std::ostream& out, DrawnLine::Columns columns) {
  const auto line = std::make_shared<DrawnLine>(out, std::move(columns));
  return [line](int64_t done, int64_t rows) {
    if (done == rows) return line->erase();
    if (line->is_due(/*at_once=*/false)) line->draw(fmt::format("tested {} of {} rows", done, rows));
  };
}

}  // namespace partita

#include "training/report/jsonl.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/error.h"

namespace partita {
namespace {

/// Returns the step of a line, 0 if the line is not one of a log.
int64_t step_of(std::string_view line) {
  constexpr std::string_view kStart = R"({"step":)";
  int64_t step = 0;
  if (line.starts_with(kStart)) std::from_chars(line.data() + kStart.size(), line.data() + line.size(), step);
  return step;
}

/// Returns the offset where the lines of steps up to `last` end: before the first line of a later step, or before an
/// unfinished last line that begins with '{', else at the end of the file. Lines that are not of a log count as step 0
/// and are kept. Returns none if the file cannot be read.
std::optional<uintmax_t> end_of_steps(const std::string& path, int64_t last) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  uintmax_t end = 0;
  for (std::string line; std::getline(file, line) && step_of(line) <= last; end += line.size() + 1) {
    if (file.eof()) return line.starts_with('{') ? end : end + line.size();
  }
  return file.bad() ? std::nullopt : std::optional(end);
}

bool ends_a_line(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  return file.tellg() <= 0 || (file.seekg(-1, std::ios::end), file.get() == '\n');
}

std::string failure(const std::string& path) {
  return fmt::format("[log] cannot write {}: {}", path, std::strerror(errno));
}

}  // namespace

JsonLines::JsonLines(std::string path, Warn warn, std::function<bool()> must_end)
    : path_(std::move(path)), warn_(std::move(warn)), must_end_(std::move(must_end)) {}

void JsonLines::close() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

bool JsonLines::wait_for_reader(short events) const {
  constexpr int kMilliseconds = 50;
  pollfd file{.fd = file_, .events = events, .revents = 0};
  ::poll(&file, file_ < 0 ? 0 : 1, kMilliseconds);
  return !must_end_ || !must_end_();
}

/// Opens the log to append to it if `goes_on`, else empties it. The file is non-blocking: this and later writes wait
/// for the reader of a pipe only in `wait_for_reader`, so that `must_end_` can end the wait, for example after a
/// signal. If it does, no file is open afterwards. Throws RuntimeFailure(cannot_write) if the file cannot be opened.
void JsonLines::open(bool goes_on) {
  constexpr int kMode = 0666;
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | (goes_on ? O_APPEND : O_TRUNC);
  do {
    file_ = ::open(path_.c_str(), flags, kMode);
    std::error_code unknown;
    const bool has_no_reader = file_ < 0 && errno == ENXIO && std::filesystem::is_fifo(path_, unknown);
    if (file_ < 0 && !has_no_reader && errno != EINTR) throw RuntimeFailure(ExitCode::cannot_write, failure(path_));
  } while (file_ < 0 && wait_for_reader(0));
}

void JsonLines::on_train_begin(const TrainInfo& info) {
  const bool goes_on = info.first_step > 0;
  if (!lock_) lock_.emplace(owned_file("log", path_), /*waits=*/goes_on, warn_);
  bool begins_line = true;
  std::error_code missing;
  if (goes_on && std::filesystem::is_regular_file(path_, missing)) {
    const std::optional<uintmax_t> end = end_of_steps(path_, info.first_step);
    if (!end) throw RuntimeFailure(ExitCode::cannot_write, failure(path_));  // keeps its contents
    std::error_code uncut;  // ignored: opening it for writing below reports the error
    std::filesystem::resize_file(path_, *end, uncut);
    begins_line = ends_a_line(path_);
  }
  step_ = info.first_step;
  open(goes_on);
  if (!begins_line) write("\n");
}

void JsonLines::on_step_end(const StepInfo& info) {
  if (file_ < 0) return;
  const double rate = info.seconds > 0 ? static_cast<double>(info.samples) / info.seconds : 0;
  step_ = info.global_step;
  const std::string loss = std::isfinite(info.loss) ? fmt::format("{}", info.loss) : "null";
  std::string more;
  if (info.exposed_communication) {
    more += fmt::format(",\"exposed_communication_seconds\":{:.9f}", *info.exposed_communication);
  }
  if (info.loss_scale != 1) more += fmt::format(",\"loss_scale\":{}", info.loss_scale);
  if (info.memory) more += fmt::format(",\"memory_bytes\":{}", *info.memory);
  if (info.skipped) more += ",\"skipped\":true";
  write(
      fmt::format("{{\"step\":{},\"epoch\":{},\"loss\":{},\"learning_rate\":{},\"step_seconds\":{:.9f},"
                  "\"samples_per_second\":{:.3f}{}}}\n",
                  info.global_step, info.epoch, loss, info.learning_rate, info.seconds, rate, more));
}

void JsonLines::on_validation(const ValidationInfo& info) {
  std::string more;
  for (const Measured& one : info.metrics.measured) {
    more += fmt::format(",\"validation_{}\":{}", one.name,
                        std::isfinite(one.value) ? fmt::format("{}", one.value) : "null");
  }
  const double loss = info.metrics.loss;
  write(fmt::format("{{\"step\":{},\"epoch\":{},\"validation_loss\":{},\"validation_accuracy\":{}{}}}\n", step_,
                    info.epoch, std::isfinite(loss) ? fmt::format("{}", loss) : "null", info.metrics.accuracy(), more));
}

void JsonLines::write(std::string_view line) {
  if (file_ < 0) return;
  bool goes_on = true;
  while (goes_on && !line.empty()) {
    const ssize_t written = ::write(file_, line.data(), line.size());
    if (written >= 0) line.remove_prefix(static_cast<size_t>(written));
    goes_on = written >= 0 || errno == EINTR || (errno == EAGAIN && wait_for_reader(POLLOUT));
  }
  if (line.empty()) return;
  const std::string reason = failure(path_);
  close();
  if (warn_) warn_(reason + "; the training continues without it");
}

}  // namespace partita

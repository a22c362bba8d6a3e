#include "report/jsonl.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/error.h"

namespace partita {
namespace {

constexpr std::string_view kStep = "{\"step\":";

/// Bytes of the lines that belong to the first `steps` steps; lines that are not of a log end them.
uintmax_t kept_bytes(const std::string& path, int64_t steps) {
  std::ifstream file(path, std::ios::binary);
  uintmax_t bytes = 0;
  for (std::string line; std::getline(file, line) && !file.eof(); bytes += line.size() + 1) {
    int64_t step = 0;
    const char* end = line.data() + line.size();
    const bool is_step = line.starts_with(kStep) &&
                         std::from_chars(line.data() + kStep.size(), end, step).ec == std::errc() && step <= steps;
    if (!is_step) break;
  }
  return bytes;
}

std::string failure(const std::string& path) {
  return fmt::format("[log] cannot write {}: {}", path, std::strerror(errno));
}

}  // namespace

JsonLines::JsonLines(std::string path, Warn warn)
    : path_(std::move(path)), warn_(std::move(warn)), file_(nullptr, &std::fclose) {}

void JsonLines::on_train_begin(const TrainInfo& info) {
  const bool goes_on = info.first_step > 0 && std::filesystem::is_regular_file(path_);
  if (goes_on) {
    std::error_code failure;  // a file that cannot be cut cannot be opened for writing either
    std::filesystem::resize_file(path_, kept_bytes(path_, info.first_step), failure);
  }
  step_ = info.first_step;
  file_.reset(std::fopen(path_.c_str(), goes_on ? "ae" : "we"));
  if (file_ == nullptr) throw RuntimeFailure(ExitCode::cannot_write, failure(path_));
}

void JsonLines::on_step_end(const StepInfo& info) {
  const double rate = info.seconds > 0 ? static_cast<double>(info.samples) / info.seconds : 0;
  step_ = info.global_step;
  write(
      fmt::format("{{\"step\":{},\"epoch\":{},\"loss\":{},\"learning_rate\":{},\"step_seconds\":{:.9f},"
                  "\"samples_per_second\":{:.3f}}}\n",
                  info.global_step, info.epoch, info.loss, info.learning_rate, info.seconds, rate));
}

void JsonLines::on_epoch_end(const EpochInfo& info) {
  if (!info.validation) return;
  write(fmt::format("{{\"step\":{},\"epoch\":{},\"validation_loss\":{},\"validation_accuracy\":{}}}\n", step_,
                    info.epoch, info.validation->loss, info.validation->accuracy()));
}

void JsonLines::write(const std::string& line) {
  if (file_ == nullptr) return;
  const bool written = std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size();
  if (written && std::fflush(file_.get()) == 0) return;
  const std::string reason = failure(path_);
  file_.reset();
  if (warn_) warn_(reason + "; the training goes on without it");
}

}  // namespace partita

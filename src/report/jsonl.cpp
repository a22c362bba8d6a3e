#include "report/jsonl.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace partita {

JsonLines::JsonLines(std::string path, std::function<void(const std::string&)> warn)
    : path_(std::move(path)), warn_(std::move(warn)), file_(nullptr, &std::fclose) {}

void JsonLines::on_train_begin(const TrainInfo&) {
  file_.reset(std::fopen(path_.c_str(), "we"));
  if (file_ == nullptr) throw RuntimeFailure(ExitCode::cannot_write, failure());
}

void JsonLines::on_step_end(const StepInfo& info) {
  if (file_ == nullptr) return;
  const double rate = info.seconds > 0 ? static_cast<double>(info.samples) / info.seconds : 0;
  const std::string line =
      fmt::format("{{\"step\":{},\"epoch\":{},\"loss\":{},\"step_seconds\":{:.9f},\"samples_per_second\":{:.3f}}}\n",
                  info.global_step, info.epoch, info.loss, info.seconds, rate);
  const bool written = std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size();
  if (written && std::fflush(file_.get()) == 0) return;
  const std::string reason = failure();
  file_.reset();
  if (warn_) warn_(reason + "; the training goes on without it");
}

std::string JsonLines::failure() const { return fmt::format("[log] cannot write {}: {}", path_, std::strerror(errno)); }

}  // namespace partita

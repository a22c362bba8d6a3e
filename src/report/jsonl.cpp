#include "report/jsonl.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace partita {

JsonLines::JsonLines(std::string path) : path_(std::move(path)), file_(nullptr, &std::fclose) {}

void JsonLines::on_train_begin(const TrainInfo&) {
  file_.reset(std::fopen(path_.c_str(), "we"));
  if (file_ == nullptr) fail();
}

void JsonLines::on_step_end(const StepInfo& info) {
  const double rate = info.seconds > 0 ? static_cast<double>(info.samples) / info.seconds : 0;
  const std::string line =
      fmt::format("{{\"step\":{},\"epoch\":{},\"loss\":{},\"step_seconds\":{:.9f},\"samples_per_second\":{:.3f}}}\n",
                  info.global_step, info.epoch, info.loss, info.seconds, rate);
  const bool written = std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size();
  if (!written || std::fflush(file_.get()) != 0) fail();
}

void JsonLines::fail() const {
  throw RuntimeFailure(ExitCode::cannot_write, fmt::format("[log] cannot write {}: {}", path_, std::strerror(errno)));
}

}  // namespace partita

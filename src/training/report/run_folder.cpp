#include "training/report/run_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "base/free_memory.h"
#include "base/printable.h"
#include "base/version.h"
#include "compiler/compile.h"
#include "job/toml.h"
#include "runtime/checkpoint/json_text.h"
#include "runtime/launch/owner_lock.h"
#include "training/report/predicted_trace.h"

namespace partita {
namespace {

constexpr size_t kMaxEarlyWarnings = 100;

/// Formats the present time: "2026-03-01T12:30:00Z".
std::string print_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec);
}

std::string host_name() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return printable(name);
}

/// Formats a number as JSON, which has no infinite ones.
std::string number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "null"; }

std::string text(std::string_view value) { return json_of(printable_lines(value)); }

int64_t parameters_of(const Graph& graph) {
  int64_t count = 0;
  for (const State& state : graph.states) {
    if (state.kind == StateKind::parameter) count += graph.type(state.entry).elements();
  }
  return count;
}

/// Returns the largest bytes of a rank's arenas, states included.
int64_t rank_memory_of(const Program& program) {
  return std::ranges::max(
      bytes_of_groups(program.pipeline, [&](size_t stage) { return program.stages[stage].schedule.arena_bytes; }));
}

[[noreturn]] void refuse_run_file(const std::string& path) {
  throw RuntimeFailure(ExitCode::cannot_write, "[run] cannot write {}: {}", path, std::strerror(errno));
}

void make_run_folder(const std::string& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (!failure) return;
  errno = failure.value();
  refuse_run_file(folder);
}

/// Opens a file to append to it, or empties it unless `goes_on`. Throws RuntimeFailure(cannot_write).
int open_run_file(const std::string& path, bool goes_on) {
  constexpr int kMode = 0666;
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (goes_on ? O_APPEND : O_TRUNC), kMode);
  if (file < 0) refuse_run_file(path);
  return file;
}

/// Whether the last byte of a file is the end of a line, or there is none.
bool is_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  return file.tellg() <= 0 || (file.seekg(-1, std::ios::end), file.get() == '\n');
}

}  // namespace

std::string log_of_run(const std::string& folder) { return folder + "/log.jsonl"; }
std::string events_of_run(const std::string& folder) { return folder + "/events.jsonl"; }
std::string configuration_of_run(const std::string& folder) { return folder + "/configuration.toml"; }

void require_new_run(const std::string& folder, bool goes_on) {
  std::error_code unknown;
  if (!goes_on && !is_restarted() && std::filesystem::exists(log_of_run(folder), unknown)) {
    throw InvalidArgument("[--run] this folder holds a run already, got {}, expected a new folder, or --resume",
                          folder);
  }
  make_run_folder(folder);
}

RunFolder::RunFolder(const JobConfig& config, Warn warn, std::function<bool()> must_end)
    : config_(config),
      folder_(config.files.run),
      warn_(std::move(warn)),
      log_(log_of_run(folder_), warn_, std::move(must_end)) {}

void RunFolder::close() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

void RunFolder::on_train_begin(const TrainInfo& info) {
  begin_ = std::chrono::steady_clock::now();
  make_run_folder(folder_);
  log_.on_train_begin(info);
  const bool goes_on = info.first_step > 0;
  const std::string events = events_of_run(folder_), settings = configuration_of_run(folder_);
  const bool begins_line = is_whole(events);
  step_ = info.first_step;
  const std::string begin = begin_event(info), configuration = print(config_);
  const File file(open_run_file(settings, /*goes_on=*/false));
  if (!write_all(file.fd(), configuration.data(), configuration.size())) refuse_run_file(settings);
  {
    const std::lock_guard lock(mutex_);
    file_ = open_run_file(events, goes_on);
    if (goes_on && !begins_line && !write_all(file_, "\n", 1)) refuse_run_file(events);
  }
  write("begin", begin);
  for (const std::string& warning : std::exchange(early_, {})) add_warning(warning);
}

std::string RunFolder::begin_event(const TrainInfo& info) const {
  const RanksConfig& ranks = config_.ranks;
  std::string fields =
      fmt::format(R"(,"version":{},"host":{},"model":{},"ranks":{},"threads":{},"device":{},"batch":{},"steps":{},)"
                  R"("steps_per_epoch":{},"first_step":{})",
                  text(version()), text(host_name()), text(config_.model), ranks.count, ranks.threads,
                  text(ranks.device), config_.training.batch, info.steps, info.steps_per_epoch, info.first_step);
  if (info.program != nullptr) {
    fields += fmt::format(R"(,"parameters":{},"rank_memory_bytes":{})", parameters_of(info.program->graph),
                          rank_memory_of(*info.program));
    fields += predicted(*info.program);
  }
  if (const auto available = available_memory()) fields += fmt::format(",\"available_memory_bytes\":{}", *available);
  return fields;
}

/// Returns the field "predicted". "" if the ranks compute on accelerators and the configuration names no cluster for
/// them, or if the default cluster cannot run the program.
std::string RunFolder::predicted(const Program& program) const {
  const std::string& cluster = config_.files.cluster;
  const bool is_default = cluster == FilesConfig().cluster;
  if (is_default && config_.ranks.device != "cpu") return "";
  try {
    const SimulatedStep step = predict_step(program, cluster, config_.ranks.threads);
    const auto busiest = std::ranges::max_element(step.groups, {}, &SimulatedGroup::compute);
    double exposed = 0;
    for (const auto& [kind, seconds] : busiest->exposed) exposed += seconds;
    return fmt::format(R"(,"predicted":{{"cluster":{},"step_seconds":{},"compute_seconds":{},"exposed_seconds":{},)"
                       R"("bubble_seconds":{}}})",
                       text(cluster), number(step.seconds), number(busiest->compute), number(exposed),
                       number(busiest->bubble));
  } catch (const InvalidArgument&) {
    if (!is_default) throw;
    return "";
  }
}

void RunFolder::on_step_end(const StepInfo& info) {
  step_ = info.global_step;
  log_.on_step_end(info);
}

void RunFolder::add_warning(const std::string& message) {
  {
    const std::lock_guard lock(mutex_);
    if (file_ < 0) {
      if (early_.size() < kMaxEarlyWarnings) early_.push_back(message);
      return;
    }
  }
  write("warning", fmt::format(R"(,"step":{},"message":{})", step_.load(), text(message)));
}

void RunFolder::add_times(const RankTimes& times) {
  std::string seconds;
  for (const double one : times.busy_seconds) seconds += fmt::format("{}{:.6g}", seconds.empty() ? "" : ",", one);
  write("ranks", fmt::format(R"(,"step":{},"steps":{},"busy_seconds":[{}])", times.step, times.steps, seconds));
}

void RunFolder::add_checkpoint(int64_t step, const std::string& path) {
  write("checkpoint", fmt::format(R"(,"step":{},"path":{})", step, text(path)));
}

void RunFolder::add_test(const Metrics& metrics) {
  const std::string accuracy = metrics.classified ? fmt::format(",\"accuracy\":{}", metrics.accuracy()) : "";
  write("test", fmt::format(R"(,"step":{},"loss":{}{})", step_.load(), number(metrics.loss), accuracy));
}

void RunFolder::end(const std::string& reason) {
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin_;
  write("end", fmt::format(R"(,"step":{},"seconds":{:.3f},"reason":{})", step_.load(), seconds.count(), text(reason)));
  const std::lock_guard lock(mutex_);
  close();
}

void RunFolder::write(std::string_view kind, const std::string& fields) {
  std::string reason;
  {
    const std::lock_guard lock(mutex_);
    if (file_ < 0) return;
    const std::string line = fmt::format("{{\"event\":\"{}\",\"time\":\"{}\"{}}}\n", kind, print_now(), fields);
    if (write_all(file_, line.data(), line.size())) return;
    reason = std::strerror(errno);
    close();
  }
  if (warn_) {
    warn_(fmt::format("[run] cannot write {}: {}; the training continues without it", events_of_run(folder_), reason));
  }
}

}  // namespace partita

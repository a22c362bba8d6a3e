#include "training/runs/run_record.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/bounded_json.h"
#include "base/error.h"
#include "base/is_folder.h"
#include "base/printable.h"
#include "job/toml.h"
#include "training/report/run_folder.h"

namespace partita {
namespace {

constexpr size_t kMaxLine = size_t{1} << 20;
constexpr double kLargestStep = 1e15;

std::string shown(std::string_view line) { return printable(line.substr(0, 60)) + (line.size() > 60 ? "..." : ""); }

/// Returns the line with null in place of nan and inf, which logs of older versions can hold.
std::string without_infinite(std::string line) {
  for (const char* word : {":-nan", ":nan", ":-inf", ":inf"}) {
    for (size_t at = 0; (at = line.find(word, at)) != line.npos;)
      line.replace(at, std::string_view(word).size(), ":null");
  }
  return line;
}

/// A JSON object of a line, with where it is.
class Line {
 public:
  Line(nlohmann::json object, std::string where) : object_(std::move(object)), where_(std::move(where)) {}
  bool has(const char* key) const { return object_.contains(key); }
  /// Returns a number; NaN if it is missing or null. Throws InvalidFile for another kind.
  double number(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end() || found->is_null()) return kUnknown;
    if (!found->is_number()) refuse(key, *found, "a number");
    return found->get<double>();
  }
  /// Returns a whole number from 0; 0 if it is missing. Throws InvalidFile for anything else.
  int64_t count(const char* key) const {
    const double value = number(key);
    if (std::isnan(value)) return 0;
    if (value < 0 || value > kLargestStep || value != std::floor(value)) {
      refuse(key, object_.at(key), "a whole number from 0");
    }
    return static_cast<int64_t>(value);
  }
  std::string text(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) return "";
    if (!found->is_string()) refuse(key, *found, "a text");
    return found->get<std::string>();
  }
  std::vector<double> numbers(const char* key) const {
    std::vector<double> values;
    if (!has(key)) return values;
    if (!object_.at(key).is_array()) refuse(key, object_.at(key), "a list of numbers");
    for (const nlohmann::json& one : object_.at(key)) {
      if (!one.is_number()) refuse(key, one, "a list of numbers");
      values.push_back(one.get<double>());
    }
    return values;
  }
  bool flag(const char* key) const { return has(key) && object_.at(key).is_boolean() && object_.at(key).get<bool>(); }
  Line inner(const char* key) const {
    if (!object_.at(key).is_object()) refuse(key, object_.at(key), "an object");
    return {object_.at(key), where_};
  }

 private:
  [[noreturn]] void refuse(const char* key, const nlohmann::json& got, std::string_view expected) const {
    throw InvalidFile("[report] {}: bad value of {}, got {}, expected {}", where_, key,
                      shown(got.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)), expected);
  }
  nlohmann::json object_;
  std::string where_;
};

/// Calls `take` for each line of a file of JSON objects. A last line without an end that is not JSON is left out, which
/// `notes` gets. Throws MissingFile and InvalidFile as read_run does, and what `take` throws.
void read_lines(const std::string& path, const std::function<void(const Line&)>& take,
                std::vector<std::string>& notes) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw MissingFile("[report] cannot read {}: no such file, expected a run or a log of one", path);
  std::string line;
  for (int64_t number = 1; std::getline(file, line); ++number) {
    const bool is_unfinished = file.eof();
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const std::string where = fmt::format("{}:{}", path, number);
    if (line.size() > kMaxLine) {
      throw InvalidFile("[report] {}: the line is too long, got {} bytes, expected at most {}", where, line.size(),
                        kMaxLine);
    }
    nlohmann::json object;
    std::string fault;
    try {
      object = parse_bounded_json(line.find(":nan") != line.npos || line.find("inf") != line.npos ||
                                          line.find(":-nan") != line.npos
                                      ? without_infinite(line)
                                      : line);
      if (!object.is_object()) fault = "another value";
    } catch (const BadJson& error) {
      fault = error.what();
    }
    if (fault.empty()) {
      take(Line(std::move(object), where));
    } else if (is_unfinished) {
      notes.push_back(fmt::format("line {} of {} is unfinished and was left out: the training was killed or still runs",
                                  number, std::filesystem::path(path).filename().string()));
    } else {
      throw InvalidFile("[report] {}: not a line of a log, got '{}', expected a JSON object", where, shown(line));
    }
  }
  if (file.bad()) throw MissingFile("[report] cannot read {}: an error of the disk", path);
}

class LogReader {
 public:
  explicit LogReader(RunRecord& run) : run_(run) {}

  void take(const Line& line) {
    if (!line.has("step")) {
      ++others_;
      return;
    }
    const int64_t step = line.count("step");
    if (line.has("validation_loss")) {
      run_.validations.push_back({.step = step,
                                  .epoch = line.count("epoch"),
                                  .loss = line.number("validation_loss"),
                                  .accuracy = line.number("validation_accuracy")});
      return;
    }
    if (!run_.steps.empty() && step <= run_.steps.back().step) go_back(step);
    run_.steps.push_back({.step = step,
                          .epoch = line.count("epoch"),
                          .loss = line.number("loss"),
                          .learning_rate = line.number("learning_rate"),
                          .seconds = line.number("step_seconds"),
                          .rate = line.number("samples_per_second"),
                          .exposed = line.number("exposed_communication_seconds"),
                          .loss_scale = line.number("loss_scale"),
                          .memory = line.number("memory_bytes"),
                          .skipped = line.flag("skipped")});
  }

  void finish() {
    if (others_ == 0) return;
    run_.notes.push_back(fmt::format("{} line{} of the log without \"step\" {} left out", others_,
                                     others_ == 1 ? "" : "s", others_ == 1 ? "was" : "were"));
  }

 private:
  void go_back(int64_t step) {
    const auto is_earlier = [step](const auto& one) { return one.step < step; };
    run_.steps.erase(std::ranges::partition_point(run_.steps, is_earlier), run_.steps.end());
    std::erase_if(run_.validations, [&](const LoggedValidation& one) { return !is_earlier(one); });
    run_.notes.push_back(fmt::format("the log goes back to step {}: a training was resumed there", step));
  }

  RunRecord& run_;
  int64_t others_ = 0;
};

void take_begin(RunRecord& run, const Line& line) {
  const int64_t first = line.count("first_step");
  run.starts.push_back({line.text("time"), line.text("host"), line.text("version"), first});
  run.model = line.text("model");
  run.device = line.text("device");
  run.ranks = line.count("ranks");
  run.threads = line.count("threads");
  run.batch = line.count("batch");
  run.planned_steps = line.count("steps");
  run.steps_per_epoch = line.count("steps_per_epoch");
  run.parameters = line.number("parameters");
  run.rank_memory = line.number("rank_memory_bytes");
  run.available_memory = line.number("available_memory_bytes");
  run.end_reason.reset();
  run.seconds = kUnknown;
  std::erase_if(run.times, [first](const LoggedTimes& one) { return one.step > first; });
  run.predicted.reset();
  if (!line.has("predicted")) return;
  const Line predicted = line.inner("predicted");
  run.predicted = {.cluster = predicted.text("cluster"),
                   .step = predicted.number("step_seconds"),
                   .compute = predicted.number("compute_seconds"),
                   .exposed = predicted.number("exposed_seconds"),
                   .bubble = predicted.number("bubble_seconds")};
}

void take_event(RunRecord& run, const Line& line) {
  const std::string kind = line.text("event");
  const int64_t step = line.count("step");
  if (kind == "begin") take_begin(run, line);
  if (kind == "ranks") run.times.push_back({step, line.count("steps"), line.numbers("busy_seconds")});
  if (kind == "warning") run.warnings.push_back({step, line.text("message")});
  if (kind == "checkpoint") run.checkpoints.push_back({step, line.text("path"), line.text("time")});
  if (kind == "test") {
    run.test_loss = line.number("loss");
    run.test_accuracy = line.number("accuracy");
  }
  if (kind == "end") {
    run.end_reason = line.text("reason");
    run.seconds = line.number("seconds");
  }
}

std::string joined_setting(const std::vector<std::string>& texts) { return fmt::format("{}", fmt::join(texts, ", ")); }

void read_configuration(RunRecord& run, const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown)) return;
  // A key that this version does not know makes the settings incomplete, not the run unreadable.
  try {
    for (const Assignment& one : read_config(path))
      run.settings.emplace_back(one.option->key(), joined_setting(one.texts));
  } catch (const InvalidFile& error) {
    run.notes.push_back(error.what());
  }
  std::ifstream file(path, std::ios::binary);
  run.configuration.assign(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

RunRecord read_run(const std::string& path) {
  RunRecord run{.path = path, .name = {}, .steps = {}, .validations = {}};
  std::filesystem::path place(path);
  if (place.filename().empty()) place = place.parent_path();
  run.name = place.filename().string();
  const bool is_run = is_folder(path);
  const std::string log = is_run ? log_of_run(path) : path;
  std::error_code unknown;
  if (is_run && !std::filesystem::exists(log, unknown)) {
    throw MissingFile("[report] no run in this folder, got {} without log.jsonl, expected a folder of --run", path);
  }
  LogReader reader(run);
  read_lines(
      log, [&](const Line& line) { reader.take(line); }, run.notes);
  reader.finish();
  if (!is_run) return run;
  if (std::filesystem::exists(events_of_run(path), unknown)) {
    run.has_events = true;
    read_lines(
        events_of_run(path), [&](const Line& line) { take_event(run, line); }, run.notes);
  }
  read_configuration(run, configuration_of_run(path));
  return run;
}

}  // namespace partita

#include "training/sweep/trial_results.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "base/bounded_json.h"
#include "base/error.h"
#include "base/files.h"
#include "base/plain_text.h"
#include "base/printable.h"
#include "runtime/checkpoint/json_text.h"
#include "training/runs/run_summary.h"

namespace partita {
namespace {

std::string json_line_text(std::string_view text) { return json_of(printable_lines(text)); }

std::string header_line(const std::string& fingerprint) {
  return fmt::format("{{\"sweep\":{}}}\n", json_line_text(fingerprint));
}

TrialResult parse_trial(const nlohmann::json& line) {
  TrialResult result;
  for (const auto& [key, value] : line.at("values").items()) result.values.emplace_back(key, value.get<std::string>());
  result.run = line.at("run").get<std::string>();
  result.failed = line.at("status").get<std::string>() != "done";
  result.exit_code = line.value("exit_code", 0);
  result.error = line.value("error", "");
  result.seconds = line.value("seconds", 0.0);
  for (const std::string& name : names_of<SweepMetric>()) {
    if (line.contains(name) && line.at(name).is_number()) result.numbers[name] = line.at(name).get<double>();
  }
  return result;
}

/// Orders values by their keys, since a JSON object has them so.
KeyValues by_key(KeyValues values) {
  std::ranges::sort(values);
  return values;
}

[[noreturn]] void refuse_writing(const std::string& path) {
  throw RuntimeFailure(ExitCode::cannot_write, "[sweep] cannot write {}: {}", path, std::strerror(errno));
}

}  // namespace

double TrialResult::number(SweepMetric metric) const {
  const auto found = numbers.find(std::string(name_of(metric)));
  return found == numbers.end() ? kUnknown : found->second;
}

std::map<std::string, double> numbers_of(const RunRecord& run) {
  const RunSummary summary = summary_of(run);
  std::map<std::string, double> numbers{{"loss", summary.loss},
                                        {"best_loss", summary.best_loss},
                                        {"validation_loss", summary.validation_loss},
                                        {"validation_accuracy", summary.validation_accuracy},
                                        {"test_loss", run.test_loss},
                                        {"test_accuracy", run.test_accuracy},
                                        {"step_seconds", summary.step_seconds},
                                        {"rows_per_second", summary.rate}};
  std::erase_if(numbers, [](const auto& one) { return !std::isfinite(one.second); });
  return numbers;
}

std::string print_trial(const TrialResult& result) {
  std::string values, numbers;
  for (const auto& [key, value] : result.values) {
    values += fmt::format("{}{}:{}", values.empty() ? "" : ",", json_line_text(key), json_line_text(value));
  }
  for (const auto& [name, value] : result.numbers) numbers += fmt::format(",\"{}\":{}", name, value);
  if (!result.error.empty()) numbers += ",\"error\":" + json_line_text(result.error);
  return fmt::format("{{\"status\":\"{}\",\"run\":{},\"values\":{{{}}},\"seconds\":{:.3f},\"exit_code\":{}{}}}\n",
                     result.failed ? "failed" : "done", json_line_text(result.run), values, result.seconds,
                     result.exit_code, numbers);
}

TrialFile::TrialFile(std::string path, const std::string& fingerprint) : path_(std::move(path)) {
  std::ifstream file(path_, std::ios::binary);
  std::string text;
  if (file) text.assign(std::istreambuf_iterator<char>(file), {});
  const size_t end = text.rfind('\n') == text.npos ? 0 : text.rfind('\n') + 1;
  if (end < text.size()) {  // a sweep was killed while it wrote
    std::error_code failure;
    std::filesystem::resize_file(path_, end, failure);
    text.resize(end);
  }
  if (text.empty()) {
    append(header_line(fingerprint));
  } else {
    read(text, fingerprint);
  }
}

void TrialFile::read(const std::string& text, const std::string& fingerprint) {
  int64_t number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    try {
      const nlohmann::json object = parse_bounded_json(line);
      if (number > 1) {
        keep(parse_trial(object));
        continue;
      }
      const auto found = object.at("sweep").get<std::string>();
      if (found == fingerprint) continue;
      throw InvalidArgument(
          "[sweep] {} holds trials of another sweep, with another model, configuration or [fixed], expected the same "
          "or "
          "another folder",
          path_);
    } catch (const InvalidArgument&) {
      throw;
    } catch (const std::exception&) {
      throw InvalidFile("[sweep] {}:{}: not the result of a trial, got '{}', expected a JSON object of a sweep", path_,
                        number, printable(line.substr(0, 60)));
    }
  }
}

void TrialFile::append(const std::string& line) const {
  constexpr unsigned kMode = 0666;
  File file(path_, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kMode);
  if (!file.is_open() || !write_all(file.fd(), line.data(), line.size()) || !file.close()) refuse_writing(path_);
}

void TrialFile::keep(TrialResult result) {
  result.values = by_key(std::move(result.values));
  std::erase_if(results_, [&](const TrialResult& one) { return one.values == result.values; });
  results_.push_back(std::move(result));
}

const TrialResult* TrialFile::find(const KeyValues& values) const {
  const auto found = std::ranges::find(results_, by_key(values), &TrialResult::values);
  return found == results_.end() ? nullptr : &*found;
}

void TrialFile::add(TrialResult result) {
  append(print_trial(result));
  keep(std::move(result));
}

std::vector<size_t> ranked(const std::vector<TrialResult>& results, SweepMetric metric) {
  std::vector<size_t> order(results.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const double sign = is_better_if_larger(metric) ? -1 : 1;
  const auto cost = [&](size_t i) {
    const double value = results[i].failed ? kUnknown : results[i].number(metric);
    return std::isnan(value) ? HUGE_VAL : sign * value;
  };
  std::ranges::stable_sort(order, {}, cost);
  return order;
}

}  // namespace partita

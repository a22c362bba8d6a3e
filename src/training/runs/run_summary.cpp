#include "training/runs/run_summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/pricing/layers/quantities.h"

namespace partita {
namespace {

constexpr size_t kKeptSteps = 10'000;
constexpr size_t kMaxRecorded = 50;  // recorded warnings among the remarks
constexpr double kSlowStart = 5, kMuchSkew = 0.1, kMuchExposed = 0.2, kFarOff = 2, kFull = 0.9;

double larger(double a, double b) { return std::isnan(a) || b > a ? b : a; }
double smaller(double a, double b) { return std::isnan(a) || b < a ? b : a; }

double mean_of_last_losses(const std::vector<LoggedStep>& steps) {
  double sum = 0;
  int64_t count = 0;
  for (size_t i = steps.size() - std::min(steps.size(), kLastSteps); i < steps.size(); ++i) {
    if (!std::isfinite(steps[i].loss)) continue;
    sum += steps[i].loss;
    ++count;
  }
  return count > 0 ? sum / static_cast<double>(count) : kUnknown;
}

std::vector<double> mean_busy(const RunRecord& run) {
  std::vector<double> busy;
  int64_t steps = 0;
  for (const LoggedTimes& times : run.times) {
    if (busy.empty()) busy.resize(times.busy.size());
    if (busy.size() != times.busy.size()) continue;  // the training was resumed on another number of ranks
    for (size_t rank = 0; rank < busy.size(); ++rank) busy[rank] += times.busy[rank];
    steps += times.steps;
  }
  for (double& one : busy) one /= static_cast<double>(std::max<int64_t>(steps, 1));
  return busy;
}

class Remarks {
 public:
  Remarks(const RunRecord& run, const RunSummary& summary) : run_(run), summary_(summary) {}

  std::vector<std::string> take() {
    end();
    losses();
    starts();
    speed();
    ranks();
    memory();
    size_t shown = 0;
    for (const LoggedWarning& one : run_.warnings) {
      if (++shown > kMaxRecorded) break;
      add("Step {}: {}", one.step, one.message);
    }
    if (run_.warnings.size() > kMaxRecorded) add("{} more warnings", run_.warnings.size() - kMaxRecorded);
    for (const std::string& note : run_.notes) add("{}", note);
    return std::move(all_);
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> text, const Values&... values) {
    all_.push_back(fmt::vformat(text, fmt::make_format_args(values...)));
  }

  void end() {
    if (!run_.has_events) return;
    if (!run_.end_reason) {
      add("The training has not ended: it was killed after step {} of {}, or still runs.", summary_.last_step,
          run_.planned_steps);
    } else if (!run_.end_reason->empty()) {
      add("The training ended after step {} of {}: {}", summary_.last_step, run_.planned_steps, *run_.end_reason);
    }
  }

  void losses() {
    if (summary_.not_finite > 0) {
      add("The loss of {} step{} was not finite, first in step {}.", summary_.not_finite,
          summary_.not_finite == 1 ? "" : "s", summary_.first_not_finite);
    }
    if (summary_.skipped > 0) {
      add("{} step{} updated nothing, since the loss or a gradient was not finite.", summary_.skipped,
          summary_.skipped == 1 ? "" : "s");
    }
  }

  void starts() {
    for (size_t i = 1; i < run_.starts.size(); ++i) {
      const LoggedStart& start = run_.starts[i];
      add("The training was resumed after step {} on {} at {}.", start.first_step, start.host, start.time);
    }
  }

  void speed() {
    const double usual = summary_.step_seconds;
    if (run_.steps.size() > 3 && run_.steps.front().seconds > kSlowStart * usual) {
      add("The first step took {}, {:.0f} times as long as a usual one: warm-up.",
          print_span(run_.steps.front().seconds), run_.steps.front().seconds / usual);
    }
    if (summary_.exposed > kMuchExposed * usual) {
      add("The first rank communicates or waits in {:.0f} % of a step.", 100 * summary_.exposed / usual);
    }
    if (!run_.predicted || !(usual > 0)) return;
    const double ratio = usual / run_.predicted->step;
    if (ratio > kFarOff || ratio < 1 / kFarOff) {
      add("A step takes {:.2g} times the {} that were predicted for the cluster {}.", ratio,
          print_span(run_.predicted->step), run_.predicted->cluster);
    }
  }

  void ranks() {
    if (summary_.busy.size() < 2) return;
    double sum = 0;
    for (const double one : summary_.busy) sum += one;
    const auto slowest = std::ranges::max_element(summary_.busy);
    const double mean = sum / static_cast<double>(summary_.busy.size());
    if (mean > 0 && *slowest > (1 + kMuchSkew) * mean) {
      add("Rank {} computes {:.0f} % longer than the mean of the ranks.", slowest - summary_.busy.begin(),
          100 * (*slowest / mean - 1));
    }
  }

  void memory() {
    if (summary_.memory > kFull * run_.available_memory) {
      add("The process used {} of the {} that were free at the start.", print_size(summary_.memory),
          print_size(run_.available_memory));
    }
  }

  const RunRecord& run_;
  const RunSummary& summary_;
  std::vector<std::string> all_;
};

}  // namespace

double median(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty()) return kUnknown;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

RunSummary summary_of(const RunRecord& run) {
  RunSummary all{.steps = std::ssize(run.steps)};
  std::vector<double> seconds, rates, exposed;
  for (const LoggedStep& step : run.steps) {
    all.last_step = step.step;
    if (std::isfinite(step.loss)) {
      if (!(step.loss >= all.best_loss)) {
        all.best_loss = step.loss;
        all.best_step = step.step;
      }
    } else {
      if (all.not_finite++ == 0) all.first_not_finite = step.step;
      if (all.not_finite_steps.size() < kKeptSteps) all.not_finite_steps.push_back(step.step);
    }
    if (step.skipped) ++all.skipped;
    if (!std::isnan(step.memory)) all.memory = larger(all.memory, step.memory);
    if (step.seconds > 0) all.total_seconds += step.seconds;
    seconds.push_back(step.seconds);
    rates.push_back(step.rate);
    exposed.push_back(step.exposed);
  }
  all.loss = mean_of_last_losses(run.steps);
  for (const LoggedValidation& one : run.validations) {
    if (std::isfinite(one.loss)) all.validation_loss = smaller(all.validation_loss, one.loss);
    if (std::isfinite(one.accuracy)) all.validation_accuracy = larger(all.validation_accuracy, one.accuracy);
  }
  all.step_seconds = median(std::move(seconds));
  all.rate = median(std::move(rates));
  all.exposed = median(std::move(exposed));
  all.busy = mean_busy(run);
  return all;
}

std::vector<std::string> remarks_on(const RunRecord& run, const RunSummary& summary) {
  return Remarks(run, summary).take();
}

std::string state_of(const RunRecord& run) {
  if (!run.has_events) return "";
  if (!run.end_reason) return "unfinished";
  return run.end_reason->empty() ? "finished" : "ended early";
}

std::string print_value(double value) {
  if (std::isnan(value)) return "-";
  const double size = std::abs(value);
  if (size >= 1e4 && size < 1e12) return print_count(std::llround(value));
  return fmt::format("{:.4g}", value);
}
std::string print_span(double seconds) { return std::isnan(seconds) ? "-" : print_seconds(seconds); }
std::string print_size(double bytes) { return std::isnan(bytes) ? "-" : print_memory(bytes); }

std::string print_count(int64_t count) {
  std::string text = fmt::format("{}", count);
  for (int64_t at = std::ssize(text) - 3; at > (count < 0 ? 1 : 0); at -= 3) text.insert(static_cast<size_t>(at), ",");
  return text;
}

std::string print_duration(double seconds) {
  if (!(seconds >= 60)) return print_span(seconds);
  const auto whole = static_cast<int64_t>(std::min(seconds, 1e12));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

}  // namespace partita

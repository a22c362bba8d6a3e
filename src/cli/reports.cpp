#include "cli/reports.h"

#include <iostream>

#include "cli/options.h"
#include "launch/signals.h"
#include "report/jsonl.h"
#include "report/progress.h"

namespace partita {
namespace {

constexpr int64_t kPerPrintTimes = 100;

}  // namespace

Reports::Reports(const JobConfig& config, const Place& place) {
  const FilesConfig& files = config.files;
  draws_ = !config.console.quiet && !config.console.per_print_times && is_terminal() && !place.launched;
  const bool every_process = config.console.ranks == ConsoleRanks::all || !files.log_dir.empty();
  if (!config.console.quiet) add_monitors(config, every_process ? observers_ : callbacks_);
  if (!files.log.empty()) {
    callbacks_.push_back(std::make_unique<JsonLines>(
        files.log, [](const std::string& message) { warn(message); },
        [] { return SignalGuard::requests().stop != 0; }));
  }
  if (config.training.patience) {
    callbacks_.push_back(
        std::make_unique<EarlyStopping>(EarlyStopping::Options{.patience = *config.training.patience}, std::cout));
  }
}

void Reports::add_monitors(const JobConfig& config, List& list) {
  if (draws_) {
    list.push_back(std::make_unique<ProgressLine>(std::cout, terminal_columns));
    return;
  }
  list.push_back(std::make_unique<LossMonitor>(std::cout, config.console.per_print_times.value_or(kPerPrintTimes)));
  list.push_back(std::make_unique<TimeMonitor>(std::cout));
  if (config.training.validate) list.push_back(std::make_unique<ValidationMonitor>(std::cout));
}

EvaluationProgress Reports::evaluation_progress() const { return draws_ ? drawn_evaluation(std::cout) : nullptr; }

std::vector<Callback*> Reports::pointers(const List& list) {
  std::vector<Callback*> all;
  for (const auto& callback : list) all.push_back(callback.get());
  return all;
}

}  // namespace partita

#include "training/report/reports.h"

#include <iostream>

#include "runtime/launch/place.h"
#include "training/report/jsonl.h"
#include "training/report/progress.h"
#include "training/report/tensorboard.h"

namespace partita {
namespace {

constexpr int64_t kPerPrintTimes = 100;

}  // namespace

Reports::Reports(const JobConfig& config, const Place& place, const Options& options)
    : out_(options.prints ? std::cout : nowhere_), shows_progress_(options.prints && !config.console.quiet) {
  const FilesConfig& files = config.files;
  draws_ = shows_progress_ && !config.console.per_print_times && is_terminal() && !place.launched;
  const bool every_process = config.console.ranks == ConsoleRanks::all || !files.log_dir.empty();
  if (shows_progress_) add_monitors(config, options.validates, every_process ? observers_ : callbacks_);
  if (!files.log.empty()) {
    callbacks_.push_back(std::make_unique<JsonLines>(files.log, options.warn, options.must_end));
  }
  if (!files.run.empty()) {
    auto folder = std::make_unique<RunFolder>(config, options.warn, options.must_end);
    run_folder_ = folder.get();
    callbacks_.push_back(std::move(folder));
  }
  if (!files.tensorboard.empty()) {
    callbacks_.push_back(std::make_unique<TensorboardEvents>(files.tensorboard, options.warn));
  }
  const std::string& best = files.keep_best;
  if (!best.empty()) callbacks_.push_back(std::make_unique<BestCheckpoint>(best));
  if (config.training.patience) {
    EarlyStopping::Options stopping{.patience = *config.training.patience};
    if (!best.empty() || config.training.validate_every > 0) stopping.metric = best.empty() ? "loss" : best;
    callbacks_.push_back(std::make_unique<EarlyStopping>(std::move(stopping), out_));
  }
}

void Reports::add_monitors(const JobConfig& config, bool validates, List& list) {
  if (draws_) {
    list.push_back(std::make_unique<ProgressLine>(out_, terminal_columns));
    return;
  }
  const std::optional<int64_t> every = config.console.per_print_times;
  list.push_back(std::make_unique<LossMonitor>(out_, every.value_or(kPerPrintTimes), /*and_last=*/!every));
  list.push_back(std::make_unique<TimeMonitor>(out_));
  if (validates) list.push_back(std::make_unique<ValidationMonitor>(out_));
}

EvaluationProgress Reports::evaluation_progress() const { return draws_ ? drawn_evaluation(out_) : nullptr; }

void Reports::tell(const std::string& text) { out_ << text << std::flush; }

void Reports::tell_progress(const std::string& text) {
  if (shows_progress_) tell(text);
}

std::vector<Callback*> Reports::pointers(const List& list) {
  std::vector<Callback*> all;
  for (const auto& callback : list) all.push_back(callback.get());
  return all;
}

}  // namespace partita

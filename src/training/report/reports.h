#pragma once
// Progress and log files of a running training, as its configuration says.

#include <memory>
#include <ostream>

#include "job/config.h"
#include "training/report/callbacks.h"
#include "training/report/run_folder.h"

namespace partita {

class Reports {
 public:
  struct Options {
    bool validates = false;                          // whether validations are shown
    bool prints = true;                              // whether to print to std::cout; false prints nothing
    std::function<void(const std::string&)> warn{};  // receives the failure to write a log
    std::function<bool()> must_end{};                // see JsonLines
  };
  Reports(const JobConfig& config, const Place& place, const Options& options);
  Reports& operator=(Reports&&) = delete;

  /// Callbacks for the first rank, and observers for every process. They live as long as this object.
  std::vector<Callback*> callbacks() const { return pointers(callbacks_); }
  std::vector<Callback*> observers() const { return pointers(observers_); }
  /// Record of the training; null without `files.run`. In processes other than the first it records nothing.
  RunFolder* run_folder() const { return run_folder_; }
  /// Returns a function that draws the progress of an evaluation (`drawn_evaluation`); nullptr unless progress is
  /// printed, on a terminal, without `console.per_print_times` and a launcher.
  EvaluationProgress evaluation_progress() const;
  /// Prints text, also under `console.quiet`, unless Options::prints is false.
  void tell(const std::string& text);
  /// Prints text unless Options::prints is false or `console.quiet` is set.
  void tell_progress(const std::string& text);

 private:
  using List = std::vector<std::unique_ptr<Callback>>;
  static std::vector<Callback*> pointers(const List& list);
  void add_monitors(const JobConfig& config, bool validates, List& list);

  std::ostream nowhere_{nullptr};
  std::ostream& out_;
  List callbacks_, observers_;
  RunFolder* run_folder_ = nullptr;  // one of `callbacks_`
  bool shows_progress_ = false;
  bool draws_ = false;  // on a terminal
};

}  // namespace partita

#pragma once
// What a training shows and writes while it runs, as its configuration says.

#include <memory>
#include <ostream>

#include "job/config.h"
#include "training/callbacks.h"
#include "training/evaluation.h"

namespace partita {

class Reports {
 public:
  struct Options {
    bool validates = false;                          // shows what epochs are validated with
    bool prints = true;                              // to std::cout; otherwise to nothing
    std::function<void(const std::string&)> warn{};  // of a log that cannot be written any more
    std::function<bool()> must_end{};                // see JsonLines
  };
  Reports(const JobConfig& config, const Place& place, const Options& options);
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;

  /// Those for the first rank, and those for every process.
  std::vector<Callback*> callbacks() const { return pointers(callbacks_); }
  std::vector<Callback*> observers() const { return pointers(observers_); }
  /// Shows how far an evaluation is; nullptr where nothing does.
  EvaluationProgress evaluation_progress() const;
  /// Prints text, also where progress is not printed.
  void tell(const std::string& text);
  /// Prints text where progress is printed.
  void tell_progress(const std::string& text);

 private:
  using List = std::vector<std::unique_ptr<Callback>>;
  static std::vector<Callback*> pointers(const List& list);
  void add_monitors(const JobConfig& config, bool validates, List& list);

  std::ostream nowhere_{nullptr};
  std::ostream& out_;
  List callbacks_, observers_;
  bool shows_progress_ = false;
  bool draws_ = false;  // on a terminal
};

}  // namespace partita

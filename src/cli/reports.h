#pragma once
// What a training shows and writes while it runs, as its configuration says.

#include <memory>

#include "job/config.h"
#include "training/callbacks.h"
#include "training/model.h"

namespace partita {

class Reports {
 public:
  /// `writes_console`: this process prints or keeps what it prints.
  Reports(const JobConfig& config, const Place& place);

  /// Those for the first rank, and those for every process.
  std::vector<Callback*> callbacks() const { return pointers(callbacks_); }
  std::vector<Callback*> observers() const { return pointers(observers_); }
  /// What shows how far an evaluation is; nullptr where nothing does.
  EvaluationProgress evaluation_progress() const;

 private:
  using List = std::vector<std::unique_ptr<Callback>>;
  static std::vector<Callback*> pointers(const List& list);
  void add_monitors(const JobConfig& config, List& list);

  List callbacks_, observers_;
  bool draws_ = false;  // on a terminal
};

}  // namespace partita

#pragma once
// A line on a terminal that is redrawn while something runs.

#include <chrono>
#include <functional>
#include <ostream>

#include "training/report/callbacks.h"
#include "training/report/metrics.h"

namespace partita {

/// Returns the columns of the terminal at standard output, or 80 if they are not known.
size_t terminal_columns();
/// Whether standard output is a terminal on which a line can be redrawn: TERM is set, and not to "dumb".
bool is_terminal();

/// A redrawn line of a terminal. It is drawn at most ten times a second and is never longer than the terminal is wide.
/// The destructor erases it.
class DrawnLine {
 public:
  using Columns = std::function<size_t()>;
  DrawnLine(std::ostream& out, Columns columns) : out_(out), columns_(std::move(columns)) {}
  ~DrawnLine();
  DrawnLine& operator=(DrawnLine&&) = delete;

  /// Whether it is time to draw again (`at_once`: always). If so, the next time is 100 ms later.
  bool is_due(bool at_once);
  void draw(const std::string& text);
  /// Replaces the drawn line by one that stays.
  void replace(const std::string& text);
  void erase();

 private:
  using Clock = std::chrono::steady_clock;

  std::ostream& out_;
  Columns columns_;
  Clock::time_point drawn_{};
  bool open_ = false;  // whether a line is drawn that does not stay
};

/// Draws "epoch 2/10 step 45/78 loss 1.8342 1512 samples/s 3:12 left". After each epoch it prints a line that stays:
/// number, mean loss, validation accuracy and time.
class ProgressLine : public Callback {
 public:
  ProgressLine(std::ostream& out, DrawnLine::Columns columns) : line_(out, std::move(columns)) {}
  void on_train_begin(const TrainInfo& info) override;
  void on_step_end(const StepInfo& info) override;
  bool may_lag(int64_t) const override { return true; }
  void on_validation(const ValidationInfo& info) override;
  void on_epoch_end(const EpochInfo& info) override;

 private:
  DrawnLine line_;
  TrainInfo train_;
  double step_seconds_ = 0;  // seconds per step, smoothed
};

/// Returns a function that draws "tested 512 of 10000 rows" on `out`, and erases it when all rows are done.
EvaluationProgress drawn_evaluation(std::ostream& out, DrawnLine::Columns columns = terminal_columns);

}  // namespace partita

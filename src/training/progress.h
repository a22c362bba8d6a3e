#pragma once
// A line on a terminal that is drawn anew while something runs.

#include <chrono>
#include <functional>
#include <ostream>

#include "training/callbacks.h"
#include "training/evaluation.h"

namespace partita {

/// Columns of the terminal behind standard output now; 80 when it does not say.
size_t terminal_columns();
/// Whether standard output is a terminal that understands a drawn line.
bool is_terminal();

/// One line of a terminal, which knows how to go back to the start of a line and to erase it. Drawn at most ten times a
/// second; never longer than the terminal is wide.
class DrawnLine {
 public:
  using Columns = std::function<size_t()>;
  DrawnLine(std::ostream& out, Columns columns) : out_(out), columns_(std::move(columns)) {}
  ~DrawnLine();
  DrawnLine(const DrawnLine&) = delete;
  DrawnLine& operator=(const DrawnLine&) = delete;

  /// Whether it is time to draw again; `at_once`: it always is.
  bool is_due(bool at_once);
  void draw(const std::string& text);
  /// Puts a line that stays in its place.
  void replace(const std::string& text);
  void erase();

 private:
  using Clock = std::chrono::steady_clock;

  std::ostream& out_;
  Columns columns_;
  Clock::time_point drawn_{};
  bool open_ = false;  // a line is there that does not stay
};

/// "epoch 2/10 step 45/78 loss 1.8342 1512 samples/s 3:12 left"; after each epoch a line that stays: its number, mean
/// loss, validation accuracy and time.
class ProgressLine : public Callback {
 public:
  ProgressLine(std::ostream& out, DrawnLine::Columns columns) : line_(out, std::move(columns)) {}
  void on_train_begin(const TrainInfo& info) override;
  void on_step_end(const StepInfo& info) override;
  void on_epoch_end(const EpochInfo& info) override;

 private:
  DrawnLine line_;
  TrainInfo train_;
  double step_seconds_ = 0;  // smoothed
};

/// Draws "tested 512 of 10000 rows", erased when all are done.
EvaluationProgress drawn_evaluation(std::ostream& out, DrawnLine::Columns columns = terminal_columns);

}  // namespace partita

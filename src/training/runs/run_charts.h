#pragma once
// Charts of recorded trainings, one or several over each other.

#include "base/page/line_chart.h"
#include "training/runs/run_record.h"

namespace partita {

/// A number that a log has of each step or validation.
enum class Quantity {
  loss,
  validation_loss,
  validation_accuracy,
  learning_rate,
  rate,
  step_seconds,
  exposed,
  memory,
  loss_scale
};

/// Returns the values over the steps. A loss that was not finite is NaN; of other quantities unknown values are left
/// out.
std::vector<ChartPoint> points_of(const RunRecord& run, Quantity quantity);

/// Returns the chart of a quantity of several runs, each in its colour: "" if none of them has it. Of a noisy quantity
/// the running mean is drawn, and for one run also its values. Losses are drawn by their logarithm if they span much.
std::string chart_of(const std::vector<const RunRecord*>& runs, Quantity quantity, double width, double height);

/// Returns a page section with the title of the quantity and its chart; "" if no run has it.
std::string chart_section(const std::vector<const RunRecord*>& runs, Quantity quantity);

}  // namespace partita

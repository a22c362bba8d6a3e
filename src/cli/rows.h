#pragma once
// Printing of evaluation results.

#include <ostream>

#include "training/report/metrics.h"

namespace partita {

/// Lines to print. accuracy: the line of a training. all: also counts, the loss and its other scalars.
enum class ResultLines { accuracy, all };

/// Prints the test accuracy as "test accuracy 0.9895" for a network with classes, else "test loss 0.0321" and the
/// network's other means. With ResultLines::all prints the loss and the other means for every network, and the counts
/// next to the accuracy. `with_top`: prints the top-k accuracy of a network with classes, too.
void print_result(std::ostream& out, const Metrics& metrics, ResultLines lines, bool with_top = false);

}  // namespace partita

#pragma once
// Printing of evaluation results.

#include <ostream>

#include "training/metrics.h"

namespace partita {

/// Lines to print. accuracy: the line of a training. all: also counts, the loss and its other scalars.
enum class ResultLines { accuracy, all };

/// Prints "test accuracy 0.9895", or the loss of a network without classes. `with_top`: prints the top-k accuracy, too.
void print_result(std::ostream& out, const Metrics& metrics, ResultLines lines, bool with_top = false);

}  // namespace partita

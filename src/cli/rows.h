#pragma once
// What commands print of an evaluation.

#include <ostream>

#include "training/metrics.h"

namespace partita {

/// accuracy: the line of a training. all: with counts, the loss and its other scalars, and the labels among the `top`.
enum class ResultLines { accuracy, all };

/// "test accuracy 0.9895", or the loss of a network without classes.
void print_result(std::ostream& out, const Metrics& metrics, ResultLines lines, bool with_top = false);

}  // namespace partita

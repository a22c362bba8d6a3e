#pragma once
// The rows of a job for a command, and what it prints of them.

#include <ostream>

#include "training/metrics.h"
#include "zoo/zoo_job.h"

namespace partita {

/// Says so when the rows are generated because no data were given, and warns when batches of a data set are missing.
DatasetPtr open_rows(const ZooJob& job, Split split, std::string_view use);

/// accuracy: the line of a training. all: with counts, the loss and its other scalars, and the labels among the `top`.
enum class ResultLines { accuracy, all };

/// "test accuracy 0.9895", or the loss of a network without classes.
void print_result(std::ostream& out, const Metrics& metrics, ResultLines lines, bool with_top = false);

}  // namespace partita

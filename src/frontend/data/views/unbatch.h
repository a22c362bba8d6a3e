#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// Returns the rows within the rows of a dataset whose values are batches: a value [b, ..] of each column becomes b
/// rows, in order. Row i of a batch with sample s has the sample s * b + i. Throws InvalidArgument for scalars and for
/// columns with different b or b = 0.
DatasetPtr unbatch(DatasetPtr dataset);

}  // namespace partita

#pragma once

#include "frontend/data/dataset.h"

namespace partita {

/// The rows within the rows of a dataset whose values are batches already: a row [b, ..] of each column becomes b rows.
/// The sample of such a row is its own number. Throws InvalidArgument for scalars and for columns with different b.
DatasetPtr unbatch(DatasetPtr dataset);

}  // namespace partita

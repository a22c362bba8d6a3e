#pragma once
// Rows that a function of one's own makes.

#include <functional>

#include "frontend/data/dataset.h"

namespace partita {

/// Writes the row `index` of `epoch` into one tensor per column. Called by several threads at once.
using RowFunction = std::function<void(int64_t epoch, int64_t index, std::span<const Tensor> row)>;

/// `size` rows made when they are read. Throws InvalidArgument for no columns, repeated names, a negative size and no
/// function.
DatasetPtr generated_rows(std::vector<Column> columns, int64_t size, RowFunction make);

/// The rows that `next` gives until it returns false, read once into memory: for sources that only go forward.
DatasetPtr collected_rows(std::vector<Column> columns, const std::function<bool(std::span<const Tensor> row)>& next);

}  // namespace partita

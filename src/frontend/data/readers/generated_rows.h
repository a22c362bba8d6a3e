#pragma once
// Rows made by a user's function.

#include <functional>

#include "frontend/data/dataset.h"

namespace partita {

/// Writes row `index` of `epoch` into `row`, one tensor per column in their order. Called by several threads at once.
using RowFunction = std::function<void(int64_t epoch, int64_t index, std::span<const Tensor> row)>;

/// Returns a dataset of `size` rows per epoch that `make` writes each time they are read; reading throws what `make`
/// throws. Throws InvalidArgument if there are no columns, names repeat, the size is negative or the function is empty.
DatasetPtr generated_rows(std::vector<Column> columns, int64_t size, RowFunction make);

/// Returns a dataset of the rows that `next` writes, in order, until it returns false; `row` has one tensor per column.
/// They are read at once into memory: for sources that only go forward. Throws InvalidArgument if there are no columns
/// or names repeat, and what `next` throws.
DatasetPtr collected_rows(std::vector<Column> columns, const std::function<bool(std::span<const Tensor> row)>& next);

}  // namespace partita

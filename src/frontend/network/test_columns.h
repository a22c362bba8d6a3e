#pragma once
// Columns that tests of networks share.

#include <vector>

#include "base/column.h"

namespace partita {

/// Columns of labelled rows: an input, and "label", which is a class unless `label` says otherwise.
inline std::vector<Column> labelled_columns(Column input, Type label = {DType::i32, {}}) {
  return {std::move(input), Column{"label", std::move(label)}};
}

}  // namespace partita

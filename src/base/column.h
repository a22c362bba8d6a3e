#pragma once
// A named part of every row of a data set, and of every batch.

#include <string>

#include "base/shape.h"

namespace partita {

struct Column {
  std::string name;  // "image", "label"
  Type type;         // of one row, without a batch dimension
  bool operator==(const Column&) const = default;
};

}  // namespace partita

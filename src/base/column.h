#pragma once
// A named part of each row of a data set, and of each batch.

#include <string>

#include "base/shape.h"

namespace partita {

struct Column {
  std::string name;  // "image", "label"
  Type type;         // type of one row, without a batch dimension
  bool operator==(const Column&) const = default;
};

}  // namespace partita

#pragma once
// A named part of each row of a data set, and of each batch.

#include <string>
#include <string_view>

#include "base/shape.h"

namespace partita {

struct Column {
  std::string name;  // "image", "label"
  Type type;         // type of one row, without a batch dimension
  bool operator==(const Column&) const = default;
};

/// Name of the column i32[s] of a row of several documents: for each token, the place in the row at which its document
/// begins. Networks read it without being told to.
inline constexpr std::string_view kDocumentColumn = "document_begin";

}  // namespace partita

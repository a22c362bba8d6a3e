#include "frontend/network/columns.h"

#include <algorithm>

#include "frontend/network/functions.h"
#include "frontend/network/layer.h"

namespace partita {
namespace {

constexpr std::string_view kLabel = "label";

}  // namespace

Columns::Columns(Builder& builder, std::vector<Column> columns, int64_t batch, DType dtype)
    : builder_(builder), columns_(std::move(columns)), read_(columns_.size()), batch_(batch), dtype_(dtype) {
  if (batch < 1) {
    throw InvalidArgument("[graph] no samples in a batch, got {}, expected at least 1", batch);
  }
}

bool Columns::contains(std::string_view name) const {
  return std::ranges::any_of(columns_, [&](const Column& column) { return column.name == name; });
}

Value Columns::at(std::string_view name) { return converted(position(name)); }

Value Columns::at(std::string_view name, const Shape& row) {
  const size_t column = position(name);
  const Shape& got = columns_[column].type.shape;
  const auto fits = [](int64_t size, int64_t declared) { return declared == -1 || size == declared; };
  if (std::equal(got.begin(), got.end(), row.begin(), row.end(), fits)) return converted(column);
  throw InvalidArgument("[data] the rows of '{}' have the wrong shape, got {}, expected {}", name,
                        print(columns_[column].type), print(row));
}

Value Columns::as_given(std::string_view name) { return given(position(name)); }

Value Columns::first() {
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].name != kLabel) return converted(i);
  }
  throw InvalidArgument("[data] no column to read, got {}, expected an input",
                        columns_.empty() ? "no columns" : "label alone");
}

size_t Columns::position(std::string_view name) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].name == name) return i;
    names.push_back(columns_[i].name);
  }
  throw unknown_name("[data] unknown column", name, fmt::format("one of [{}]", fmt::join(names, ", ")), names);
}

Value Columns::given(size_t column) {
  Value& value = read_[column].given;
  if (value) return value;
  const auto& [name, row] = columns_[column];
  Type type{row.dtype, {batch_}};
  type.shape.insert(type.shape.end(), row.shape.begin(), row.shape.end());
  require_layer_shape(name, type.shape);
  return value = builder_.input(name, type, /*batch_dim=*/0);
}

Value Columns::converted(size_t column) {
  Value& value = read_[column].converted;
  if (value) return value;
  const Value raw = given(column);
  return value = is_float(raw.dtype()) ? cast(raw, dtype_) : raw;
}

}  // namespace partita

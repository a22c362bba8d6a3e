#include "data/readers/memory_rows.h"

#include <cstring>

namespace partita {
namespace {

class MemoryRows : public Dataset {
 public:
  MemoryRows(std::vector<Column> columns, std::vector<Array> arrays, int64_t rows)
      : columns_(std::move(columns)), arrays_(std::move(arrays)), rows_(rows) {}

  const std::vector<Column>& columns() const override { return columns_; }
  int64_t size() const override { return rows_; }

 protected:
  void fill(int64_t, std::span<const int64_t> indices, std::span<const Tensor> out) const override {
    for (size_t c = 0; c < columns_.size(); ++c) {
      const auto bytes = static_cast<size_t>(columns_[c].type.bytes());
      if (bytes == 0) continue;
      const auto* from = static_cast<const std::byte*>(arrays_[c].data());
      auto* to = static_cast<std::byte*>(out[c].data);
      for (int64_t index : indices) {
        std::memcpy(to, from + static_cast<size_t>(index) * bytes, bytes);
        to += bytes;
      }
    }
  }

 private:
  std::vector<Column> columns_;
  std::vector<Array> arrays_;
  int64_t rows_;
};

}  // namespace

DatasetPtr memory_rows(std::vector<std::pair<std::string, Array>> named) {
  if (named.empty()) throw InvalidArgument("[memory rows] no columns, got an empty list, expected one or more");
  std::vector<Column> columns;
  std::vector<Array> arrays;
  const auto& [first_name, first] = named.front();
  for (const auto& [name, array] : named) {
    const Shape& shape = array.shape();
    if (shape.empty()) {
      throw InvalidArgument(
          fmt::format("[memory rows] no rows in column '{}', got {}, expected [rows,..]", name, print(array.type())));
    }
    if (shape[0] != first.shape()[0]) {
      throw InvalidArgument(
          fmt::format("[memory rows] columns differ in length, got {} rows of '{}', expected {} as "
                      "of '{}'",
                      shape[0], name, first.shape()[0], first_name));
    }
    columns.push_back({name, {array.type().dtype, Shape(shape.begin() + 1, shape.end())}});
  }
  check_distinct(columns);
  const int64_t rows = first.shape()[0];
  for (auto& entry : named) arrays.push_back(std::move(entry.second));
  return std::make_shared<MemoryRows>(std::move(columns), std::move(arrays), rows);
}

}  // namespace partita

#include "frontend/data/readers/memory_rows.h"

#include <cstring>

#include "base/number.h"

namespace partita {
namespace {

class MemoryRows : public Dataset {
 public:
  MemoryRows(std::vector<Column> columns, std::vector<Array> arrays, int64_t rows, std::string file)
      : columns_(std::move(columns)), arrays_(std::move(arrays)), rows_(rows), file_(std::move(file)) {}

  const std::vector<Column>& columns() const override { return columns_; }
  int64_t size() const override { return rows_; }
  std::optional<IntegerRange> integers(size_t column) const override {
    const Array& array = arrays_[column];
    const int64_t count = array.type().elements();
    if (count == 0) return std::nullopt;
    int64_t least = 0, greatest = 0;  // positions
    for_dtype(array.type().dtype, [&](auto zero) {
      const auto* numbers = array.as<decltype(zero)>();
      int64_t low = convert<int64_t>(numbers[0]), high = low;
      for (int64_t i = 1; i < count; ++i) {
        const auto number = convert<int64_t>(numbers[i]);
        if (number < low) low = number, least = i;
        if (number > high) high = number, greatest = i;
      }
    });
    return IntegerRange{found(array, least), found(array, greatest)};
  }

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
  FoundInteger found(const Array& array, int64_t element) const {
    FoundInteger number{.place = fmt::format("row {}", element / (array.type().elements() / rows_)),
                        .is_in_file = !file_.empty()};
    for_dtype(array.type().dtype,
              [&](auto zero) { number.value = convert<int64_t>(array.as<decltype(zero)>()[element]); });
    if (number.is_in_file) number.place += " of " + file_;
    return number;
  }

  std::vector<Column> columns_;
  std::vector<Array> arrays_;
  int64_t rows_;
  std::string file_;
};

}  // namespace

DatasetPtr memory_rows(std::vector<std::pair<std::string, Array>> named, const std::string& file,
                       const std::map<std::string, Shape>& shapes) {
  if (named.empty()) throw InvalidArgument("[memory rows] no columns, got an empty list, expected one or more");
  std::vector<Column> columns;
  std::vector<Array> arrays;
  const auto& [first_name, first] = named.front();
  for (const auto& [name, array] : named) {
    const Shape& shape = array.shape();
    if (shape.empty()) {
      throw InvalidArgument("[memory rows] no rows in column '{}', got {}, expected [rows,..]", name,
                            print(array.type()));
    }
    if (shape[0] != first.shape()[0]) {
      throw InvalidArgument("[memory rows] columns differ in length, got {} rows of '{}', expected {} as in '{}'",
                            shape[0], name, first.shape()[0], first_name);
    }
    const Shape row(shape.begin() + 1, shape.end());
    const auto given_shape = shapes.find(name);
    columns.push_back({name, {array.type().dtype, given_shape == shapes.end() ? row : given_shape->second}});
    PARTITA_CHECK(columns.back().type.elements() == elements(row), "{} for rows of '{}' {}", print(columns.back().type),
                  name, print(row));
  }
  check_distinct(columns);
  const int64_t rows = first.shape()[0];
  for (auto& entry : named) arrays.push_back(std::move(entry.second));
  return std::make_shared<MemoryRows>(std::move(columns), std::move(arrays), rows, file);
}

}  // namespace partita

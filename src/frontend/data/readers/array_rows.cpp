#include "frontend/data/readers/array_rows.h"

#include <algorithm>
#include <limits>

#include "frontend/data/readers/memory_rows.h"
#include "frontend/data/readers/npy_file.h"
#include "frontend/data/readers/numpy_files.h"
#include "frontend/data/views/zip.h"

namespace partita {
namespace {

using NamedArrays = std::vector<std::pair<std::string, Array>>;

constexpr const char* kLabel = "label";

const Array* find(const NamedArrays& arrays, std::string_view name) {
  const auto found = std::ranges::find_if(arrays, [&](const auto& array) { return array.first == name; });
  return found == arrays.end() ? nullptr : &found->second;
}

/// Returns "x_train" and "y_train" for training, "x_test" and "y_test" for testing.
std::pair<std::string, std::string> paired_names(Split split) {
  const std::string part = split == Split::train ? "train" : "test";
  return {"x_" + part, "y_" + part};
}

bool holds_pair(const std::vector<std::string>& names, Split split) {
  const auto holds = [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); };
  const auto [x, y] = paired_names(split);
  return holds(x) && holds(y);
}

/// Returns, by name, the row shapes of the arrays of bytes [rows,height,width], i.e. grey images, with a channel
/// dimension added: [height,width,1]. Other arrays are not in the map.
std::map<std::string, Shape> shapes_with_channel(const NamedArrays& arrays) {
  std::map<std::string, Shape> shapes;
  for (const auto& [name, array] : arrays) {
    const Type& type = array.type();
    if (type.dtype == DType::u8 && type.rank() == 3) shapes[name] = {type.shape[1], type.shape[2], 1};
  }
  return shapes;
}

/// Renames "labels" and "y" to "label" and, if there is exactly one other array, that one to `input`; other arrays keep
/// their names and order. Puts the array `input`, if there is one, first. Throws InvalidFile, naming `path`, if there
/// is no label.
NamedArrays renamed(NamedArrays arrays, const std::string& input, const std::string& path) {
  for (auto& [name, array] : arrays) {
    if (name == "labels" || name == "y") name = kLabel;
  }
  if (!find(arrays, kLabel)) {
    std::vector<std::string> names;
    for (const auto& [name, array] : arrays) names.push_back(name);
    throw InvalidFile(
        "[npz] {}: no labels, got arrays [{}], expected one called label, labels or y, or x_train and y_train", path,
        fmt::join(names, ", "));
  }
  if (arrays.size() == 2) {
    for (auto& [name, array] : arrays) {
      if (name != kLabel) name = input;
    }
  }
  // The input that a network of layers reads comes first.
  std::stable_partition(arrays.begin(), arrays.end(), [&](const auto& array) { return array.first == input; });
  return arrays;
}

NamedArrays read_npz_rows(const DataSource& source, Split split, const std::string& input) {
  const std::string& path = source.paths[split == Split::test && source.paths.size() == 2 ? 1 : 0];
  if (source.paths.size() == 2 || !holds_pair(npz_names(path), Split::train)) {
    return renamed(read_npz(path), input, path);
  }
  const auto [x, y] = paired_names(split);
  NamedArrays arrays = read_npz(path, {x, y});
  for (auto& [name, array] : arrays) name = name == x ? input : kLabel;
  std::stable_partition(arrays.begin(), arrays.end(), [&](const auto& array) { return array.first == input; });
  return arrays;
}

/// Reads the rows of a split. Throws InvalidFile, too, if the pixels of one file are bytes and those of the other are
/// not: these would be scaled in another way.
NamedArrays read_csv_split(const DataSource& source, Split split, const std::string& input, const CsvFormat& csv) {
  NamedArrays arrays = read_csv_rows(source.paths[split == Split::test ? 1 : 0], input, csv);
  if (split == Split::train || csv.image.empty()) return arrays;
  const NamedArrays trained = read_csv_rows(source.paths[0], input, csv);
  const Array *one = find(arrays, input), *other = find(trained, input);
  if (one && other && one->type().dtype != other->type().dtype) {
    throw InvalidFile(
        "[csv] pixels of two kinds, got {} in '{}' and {} in '{}', expected whole numbers from 0 to 255 in "
        "both, or in none",
        name_of(other->type().dtype), source.paths[0], name_of(one->type().dtype), source.paths[1]);
  }
  return arrays;
}

/// The integers that a column may have.
struct IntegerLimits {
  int64_t least = 0, most = 0;
  std::optional<int64_t> ignored = std::nullopt;  // or this one
};

/// Returns the limits of a column: integers of "label" are in [0, classes) or ignored, if `labels` is given, and other
/// integers fit an i32, which they become in a batch. Returns nothing if all numbers of its type are right.
std::optional<IntegerLimits> limits_of(const std::string& name, DType dtype, std::optional<LabelRange> labels) {
  using Id = std::numeric_limits<int32_t>;
  if (name == kLabel && labels && !is_float(dtype)) return IntegerLimits{0, labels->classes - 1, labels->ignored};
  if (dtype == DType::i64 || dtype == DType::u32) return IntegerLimits{Id::min(), Id::max()};
  return std::nullopt;
}

/// Checks the integers of `tensor`, whose row i is the row `row_of(i)` of the source. Throws InvalidFile, with the row,
/// for one that is not within the limits.
template <class RowOf>
void require_range(const std::string& name, const Tensor& tensor, const IntegerLimits& limits, RowOf row_of,
                   const std::string& source) {
  const Shape& shape = tensor.type.shape;
  const int64_t count = tensor.type.elements(), rows = shape.empty() ? 1 : shape[0];
  for_integer(tensor.type.dtype, [&](auto zero) {
    const auto* numbers = tensor.as<decltype(zero)>();
    for (int64_t i = 0; i < count; ++i) {
      const auto number = static_cast<int64_t>(numbers[i]);
      if ((number >= limits.least && number <= limits.most) || number == limits.ignored) continue;
      const std::string kind = source.substr(0, source.find(':'));
      throw InvalidFile("[{}] '{}' out of range at row {}, got {}, expected {} to {}{} (in {})", kind, name,
                        row_of(i / (count / rows)), number, limits.least, limits.most,
                        limits.ignored ? fmt::format(", or {}, which is ignored", *limits.ignored) : "", source);
    }
  });
}

void require_ids(const NamedArrays& arrays, std::optional<LabelRange> labels, const DataSource& source) {
  for (const auto& [name, array] : arrays) {
    const std::optional<IntegerLimits> limits = limits_of(name, array.type().dtype, labels);
    if (!limits) continue;
    const Tensor tensor{array.type(), const_cast<void*>(static_cast<const void*>(array.data()))};
    require_range(
        name, tensor, *limits, [](int64_t row) { return row; }, print(source));
  }
}

/// The rows of a large .npy file, read in place. Integers are checked when they are read.
class NpyRows : public Dataset {
 public:
  NpyRows(std::string name, const Shape& row, NpyFile file, std::optional<IntegerLimits> limits, std::string source)
      : columns_{{std::move(name), {file.type().dtype, row}}},
        file_(std::move(file)),
        limits_(std::move(limits)),
        source_(std::move(source)) {}

  const std::vector<Column>& columns() const override { return columns_; }
  int64_t size() const override { return file_.type().shape[0]; }

 protected:
  void fill(int64_t, std::span<const int64_t> indices, std::span<const Tensor> out) const override {
    const int64_t elements = columns_[0].type.elements(), bytes = columns_[0].type.bytes();
    auto* to = static_cast<std::byte*>(out[0].data);
    for (size_t i = 0; i < indices.size();) {
      size_t end = i + 1;  // rows next to each other are read together
      while (end < indices.size() && indices[end] == indices[end - 1] + 1) ++end;
      const auto rows = static_cast<int64_t>(end - i);
      file_.read(indices[i] * elements, rows * elements, to);
      to += rows * bytes;
      i = end;
    }
    if (!limits_) return;
    const auto row_of = [&](int64_t row) { return indices[static_cast<size_t>(row)]; };
    require_range(columns_[0].name, out[0], *limits_, row_of, source_);
  }

 private:
  std::vector<Column> columns_;
  NpyFile file_;
  std::optional<IntegerLimits> limits_;
  std::string source_;
};

/// Reads the rows of two .npy files, of which large ones are read in place and others kept in memory.
DatasetPtr read_npy_rows(const DataSource& source, size_t first, const std::string& input,
                         std::optional<LabelRange> labels) {
  std::vector<DatasetPtr> columns;
  for (const size_t i : {first, first + 1}) {
    const std::string name = i == first ? input : std::string(kLabel);
    std::optional<NpyFile> large = open_large_npy(source.paths[i]);
    if (!large) {
      NamedArrays arrays;
      arrays.emplace_back(name, read_npy(source.paths[i]));  // an initializer list would copy
      require_ids(arrays, labels, source);
      const std::map<std::string, Shape> shapes = shapes_with_channel(arrays);
      columns.push_back(memory_rows(std::move(arrays), print(source), shapes));
      continue;
    }
    const Type type = large->type();
    if (type.shape.empty()) throw InvalidFile("[npy] no rows in '{}', got {}, expected [rows,..]", name, print(type));
    Shape row(type.shape.begin() + 1, type.shape.end());
    if (type.dtype == DType::u8 && type.rank() == 3) row.push_back(1);  // the channel of grey images
    columns.push_back(
        std::make_shared<NpyRows>(name, row, std::move(*large), limits_of(name, type.dtype, labels), print(source)));
  }
  if (columns[0]->size() != columns[1]->size()) {
    throw InvalidFile("[memory rows] columns differ in length, got {} rows of '{}', expected {} as in '{}' (in {})",
                      columns[1]->size(), kLabel, columns[0]->size(), input, print(source));
  }
  return zip(std::move(columns));
}

}  // namespace

bool has_array_rows(const DataSource& source, Split split) {
  if (split == Split::train) return true;
  if (source.kind == DataKind::npy) return source.paths.size() == 4;
  if (source.paths.size() == 2) return true;
  if (source.kind == DataKind::csv) return false;
  const std::vector<std::string> names = npz_names(source.paths[0]);
  return holds_pair(names, Split::train) && holds_pair(names, split);
}

DatasetPtr read_array_rows(const DataSource& source, Split split, const std::string& input,
                           std::optional<LabelRange> labels, const CsvFormat& csv) {
  if (!has_array_rows(source, split)) {
    throw InvalidArgument(
        "[--data] no rows to test on, got {}, expected npz:TRAIN,TEST or arrays x_test and y_test, "
        "csv:TRAIN,TEST, or npy:INPUTS,LABELS,INPUTS,LABELS",
        print(source));
  }
  try {
    if (source.kind == DataKind::npy) return read_npy_rows(source, split == Split::test ? 2 : 0, input, labels);
    NamedArrays arrays =
        source.kind == DataKind::npz ? read_npz_rows(source, split, input) : read_csv_split(source, split, input, csv);
    require_ids(arrays, labels, source);
    const std::map<std::string, Shape> shapes = shapes_with_channel(arrays);
    return memory_rows(std::move(arrays), print(source), shapes);
  } catch (const InvalidArgument& error) {
    throw InvalidFile("{} (in {})", error.what(), print(source));
  }
}

}  // namespace partita

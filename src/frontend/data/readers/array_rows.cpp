#include "frontend/data/readers/array_rows.h"

#include <algorithm>
#include <limits>

#include "frontend/data/readers/memory_rows.h"
#include "frontend/data/readers/numpy_files.h"

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

/// Checks that all numbers of an integer array are in [least, most] or equal `ignored`, if it is given. Throws
/// InvalidFile, with the row, otherwise.
void require_range(const std::string& name, const Array& array, int64_t least, int64_t most,
                   std::optional<int64_t> ignored, const DataSource& source) {
  const int64_t rows = array.shape().empty() ? 1 : array.shape()[0], count = array.type().elements();
  for_integer(array.type().dtype, [&](auto zero) {
    const auto* numbers = array.as<decltype(zero)>();
    for (int64_t i = 0; i < count; ++i) {
      const auto number = static_cast<int64_t>(numbers[i]);
      if ((number >= least && number <= most) || number == ignored) continue;
      throw InvalidFile("[{}] '{}' out of range at row {}, got {}, expected {} to {}{} (in {})", name_of(source.kind),
                        name, i / (count / rows), number, least, most,
                        ignored ? fmt::format(", or {}, which is ignored", *ignored) : "", print(source));
    }
  });
}

/// Checks that integers of "label" are in [0, classes) or ignored, if `labels` is given, and that other integers fit an
/// i32, which they become in a batch. Throws InvalidFile otherwise.
void require_ids(const NamedArrays& arrays, std::optional<LabelRange> labels, const DataSource& source) {
  using Id = std::numeric_limits<int32_t>;
  for (const auto& [name, array] : arrays) {
    const DType dtype = array.type().dtype;
    if (name == kLabel && labels && !is_float(dtype)) {
      require_range(name, array, 0, labels->classes - 1, labels->ignored, source);
    } else if (dtype == DType::i64 || dtype == DType::u32) {
      require_range(name, array, Id::min(), Id::max(), std::nullopt, source);
    }
  }
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
  NamedArrays arrays;
  if (source.kind == DataKind::npz) {
    arrays = read_npz_rows(source, split, input);
  } else if (source.kind == DataKind::csv) {
    arrays = read_csv_split(source, split, input, csv);
  } else {
    const size_t first = split == Split::test ? 2 : 0;
    arrays.emplace_back(input, read_npy(source.paths[first]));  // an initializer list of both would copy
    arrays.emplace_back(kLabel, read_npy(source.paths[first + 1]));
  }
  require_ids(arrays, labels, source);
  const std::map<std::string, Shape> shapes = shapes_with_channel(arrays);
  try {
    return memory_rows(std::move(arrays), print(source), shapes);
  } catch (const InvalidArgument& error) {
    throw InvalidFile("{} (in {})", error.what(), print(source));
  }
}

}  // namespace partita

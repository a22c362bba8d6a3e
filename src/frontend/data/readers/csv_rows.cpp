#include "frontend/data/readers/csv_rows.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "base/error.h"
#include "frontend/data/readers/csv_file.h"

namespace partita {
namespace {

constexpr const char* kCsvLabel = "label";

/// Columns of the file that become one array.
struct Group {
  std::string name;
  std::vector<size_t> places;
  bool is_vector = true;  // one number per row otherwise
  bool is_input = false;  // whether the network's input is made of it
};

/// Returns NAME and the number of a column NAME.NUMBER.
std::optional<std::pair<std::string, size_t>> parts_of(const std::string& name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot == 0 || dot + 1 == name.size()) return std::nullopt;
  size_t number = 0;
  const auto [end, failure] = std::from_chars(name.data() + dot + 1, name.data() + name.size(), number);
  if (failure != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return std::pair{name.substr(0, dot), number};
}

/// The columns NAME.0, NAME.1, .. of each name.
std::vector<Group> numbered_groups(const std::vector<std::string>& names, const std::string& path) {
  std::map<std::string, std::map<size_t, size_t>> places;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto parts = parts_of(names[i]);
    if (!parts || places[parts->first].emplace(parts->second, i).second) continue;
    throw InvalidFile("[csv] '{}': two columns of one number, got a second one in '{}', expected {}.0, {}.1, ..", path,
                      names[i], parts->first, parts->first);
  }
  std::vector<Group> groups;
  for (const auto& [name, numbered] : places) {
    if (!numbered.contains(0)) continue;  // a name such as 'radius.2' alone
    const size_t last = numbered.rbegin()->first;
    if (last + 1 != numbered.size()) {
      throw InvalidFile("[csv] '{}': columns left out, got {} columns {}.NUMBER up to {}, expected all from {}.0 on",
                        path, numbered.size(), name, last, name);
    }
    if (std::ranges::find(names, name) != names.end()) {
      throw InvalidFile("[csv] '{}': two columns of one name, got '{}' and '{}.0', expected one of them", path, name,
                        name);
    }
    Group group{.name = name, .places = {}};
    for (const auto& [number, place] : numbered) group.places.push_back(place);
    groups.push_back(std::move(group));
  }
  return groups;
}

bool is_label(const std::string& name) { return name == kCsvLabel || name == "labels" || name == "y"; }

/// All columns in their arrays: the label, those of numbered names, and the input: all others, or without any the only
/// numbered ones.
std::vector<Group> groups_of(const std::vector<std::string>& names, const std::string& input, const std::string& path) {
  std::vector<Group> groups = numbered_groups(names, path);
  std::vector<bool> is_taken(names.size(), false);
  for (const Group& group : groups) {
    for (const size_t place : group.places) is_taken[place] = true;
  }
  Group rest{.name = input, .places = {}, .is_input = true};
  Group label{.name = kCsvLabel, .places = {}, .is_vector = false};
  for (size_t i = 0; i < names.size(); ++i) {
    if (!is_taken[i]) (is_label(names[i]) ? label : rest).places.push_back(i);
  }
  const auto numbered = std::ranges::find_if(groups, [](const Group& group) { return is_label(group.name); });
  if (numbered != groups.end() && label.places.empty()) {
    label.places = std::move(numbered->places);
    label.is_vector = true;
    groups.erase(numbered);
  }
  if (label.places.size() != 1 && !label.is_vector) {
    throw InvalidFile("[csv] '{}': {} labels, got columns [{:.200}], expected one called label, labels or y", path,
                      label.places.empty() ? "no" : "several", fmt::format("{}", fmt::join(names, ", ")));
  }
  if (!rest.places.empty()) {
    groups.insert(groups.begin(), std::move(rest));
  } else if (groups.size() == 1) {
    groups[0].name = input;
    groups[0].is_input = true;
  }
  groups.push_back(std::move(label));
  return groups;
}

template <class T>
Array array_of(const CsvNumbers& numbers, const Group& group, Shape shape) {
  shape.insert(shape.begin(), numbers.rows());
  Array array(Type{DTypeOf<T>::value, std::move(shape)});
  T* out = array.as<T>();
  for (int64_t row = 0; row < numbers.rows(); ++row) {
    const double* values = numbers.values.data() + row * static_cast<int64_t>(numbers.names.size());
    for (const size_t place : group.places) *out++ = static_cast<T>(values[place]);
  }
  return array;
}

/// Whether all numbers of the columns are whole and in [least, most].
bool are_in(const CsvNumbers& numbers, const Group& group, double least, double most) {
  return std::ranges::all_of(group.places, [&](size_t place) {
    if (!numbers.are_whole[place]) return false;
    for (size_t at = place; at < numbers.values.size(); at += numbers.names.size()) {
      if (numbers.values[at] < least || numbers.values[at] > most) return false;
    }
    return true;
  });
}

Array input_of(const CsvNumbers& numbers, const Group& group, const Shape& image) {
  const auto count = static_cast<int64_t>(group.places.size());
  if (!image.empty()) {
    const auto side = static_cast<int64_t>(std::lround(std::sqrt(count)));
    const bool is_grey = image.size() == 3 && (image[0] < 0 || image[0] == 1);
    if (side * side == count && is_grey && are_in(numbers, group, 0, 255)) {
      return array_of<uint8_t>(numbers, group, {side, side});
    }
    int64_t elements = 1;
    for (const int64_t size : image) elements *= size;
    const bool is_known = std::ranges::all_of(image, [](int64_t size) { return size > 0; });
    if (is_known && elements == count) return array_of<double>(numbers, group, image);
  }
  return array_of<double>(numbers, group, {count});
}

/// Marks a column of labels as whole. Throws InvalidFile if one has a fraction.
void require_classes(CsvNumbers& numbers, size_t place, const std::string& path) {
  for (int64_t row = 0; row < numbers.rows(); ++row) {
    const double label = numbers.values[static_cast<size_t>(row) * numbers.names.size() + place];
    if (label == std::floor(label)) continue;
    throw InvalidFile("[csv] '{}': a label is no class at row {}, got {}, expected a whole number from 0", path, row,
                      label);
  }
  numbers.are_whole[place] = true;
}

}  // namespace

std::vector<std::pair<std::string, Array>> read_csv_rows(const std::string& path, const std::string& input,
                                                         const CsvFormat& format) {
  using Id = std::numeric_limits<int32_t>;
  CsvNumbers numbers = read_csv(path);
  std::vector<std::pair<std::string, Array>> arrays;
  for (const Group& group : groups_of(numbers.names, input, path)) {
    if (group.is_input && format.has_float_input) {
      arrays.emplace_back(input, input_of(numbers, group, format.image));
      continue;
    }
    if (group.name == kCsvLabel && format.has_classes) {
      for (const size_t place : group.places) require_classes(numbers, place, path);
    }
    const Shape shape = group.is_vector ? Shape{static_cast<int64_t>(group.places.size())} : Shape{};
    const bool is_whole = std::ranges::all_of(group.places, [&](size_t place) { return numbers.are_whole[place]; });
    if (is_whole && !are_in(numbers, group, Id::min(), Id::max())) {
      throw InvalidFile("[csv] '{}': a number out of range in column '{}', expected whole numbers of 32 bits", path,
                        group.name);
    }
    arrays.emplace_back(group.name,
                        is_whole ? array_of<int32_t>(numbers, group, shape) : array_of<double>(numbers, group, shape));
  }
  return arrays;
}

}  // namespace partita

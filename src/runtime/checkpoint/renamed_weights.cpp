#include "runtime/checkpoint/renamed_weights.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "runtime/checkpoint/states.h"
#include "runtime/checkpoint/transpose_last.h"

namespace partita {
namespace {

constexpr size_t kMaxNamed = 5;  // names in a message

/// Returns the shape without the dimensions of size 1 at its begin that exceed `rank` dimensions.
Shape without_leading_ones(Shape shape, size_t rank) {
  while (shape.size() > rank && shape.front() == 1) shape.erase(shape.begin());
  return shape;
}

/// Returns the first names, and how many more there are.
std::string listed_names(const std::vector<std::string>& names) {
  const size_t count = std::min(names.size(), kMaxNamed);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(count), ", "));
  return names.size() > count ? fmt::format("{} and {} more", text, names.size() - count) : text;
}

}  // namespace

RenamedWeights::RenamedWeights(TensorFiles files, const NameTable& table, const std::vector<NamedType>& weights,
                               const std::string& path)
    : files_(std::move(files)) {
  std::map<std::string, std::string> wanted;  // by the name here: the name there that was looked for first
  for (const NamedType& weight : weights) {
    for (const NameRule& rule : table.rules) {
      const std::optional<NamePattern::Numbers> numbers = rule.ours.match(weight.name);
      if (!numbers) continue;
      std::optional<Found> found = find(rule, *numbers, weight, table.optional);
      if (found) {
        check(rule, weight, *found, path);
        found_.emplace(weight.name, std::move(*found));
        break;
      }
      NamePattern::Numbers first = *numbers;
      if (rule.stacked) first[*rule.stacked] = 0;
      wanted.emplace(weight.name, rule.theirs.name(first));
    }
  }
  require_all(weights, table, wanted, path);
}

std::optional<RenamedWeights::Found> RenamedWeights::find(const NameRule& rule, const NamePattern::Numbers& numbers,
                                                          const NamedType& weight, const std::string& optional) const {
  Found found{.is_transposed = rule.is_transposed, .is_stacked = rule.stacked.has_value()};
  if ((found.is_stacked || rule.parts > 1) && weight.type.rank() == 0) return std::nullopt;
  const int64_t count = found.is_stacked ? weight.type.shape[0] : 1;
  for (int64_t i = 0; i < count; ++i) {
    NamePattern::Numbers all = numbers;
    if (rule.stacked) all[*rule.stacked] = i;
    std::string name = rule.theirs.name(all);
    const bool is_there = files_.types().contains(name);
    if (!is_there && !optional.empty() && name.starts_with(optional)) name = name.substr(optional.size());
    if (!files_.types().contains(name)) return std::nullopt;
    found.tensors.push_back(std::move(name));
  }
  return found;
}

void RenamedWeights::check(const NameRule& rule, const NamedType& weight, Found& found, const std::string& path) const {
  Shape expected = weight.type.shape;
  if (found.is_stacked) expected.erase(expected.begin());
  if (rule.parts > 1 && !expected.empty()) {
    found.first_row = rule.part * expected[0];
    expected[0] *= rule.parts;
  }
  found.shape = rule.is_transposed ? exchanged(expected) : expected;
  for (const std::string& name : found.tensors) {
    const Type& type = files_.types().at(name);
    if (without_leading_ones(type.shape, found.shape.size()) == found.shape &&
        is_float(type.dtype) == is_float(weight.type.dtype)) {
      continue;
    }
    throw InvalidFile("[names] {}: tensor '{}' does not fit '{}', got {}, expected {}", path, name, weight.name,
                      print(type), print(Type{weight.type.dtype, found.shape}));
  }
}

void RenamedWeights::require_all(const std::vector<NamedType>& weights, const NameTable& table,
                                 const std::map<std::string, std::string>& wanted, const std::string& path) const {
  std::set<std::string> used;
  for (const auto& [name, found] : found_) used.insert(found.tensors.begin(), found.tensors.end());
  std::vector<std::string> missing, left, candidates;
  std::set<std::string> copies;
  for (const auto& [copy, original] : table.same) {
    const std::string whole = files_.types().contains(original) ? original : original.substr(table.optional.size());
    if (used.contains(copy) || !files_.types().contains(copy) || !files_.types().contains(whole)) continue;
    copies.insert(copy);
    if (files_.types().at(copy) == files_.types().at(whole) && files_.first_bytes(copy) == files_.first_bytes(whole)) {
      continue;
    }
    throw InvalidFile("[names] {}: tensor '{}' is no copy of '{}', got other elements, expected a model with both",
                      path, copy, whole);
  }
  for (const auto& entry : files_.types()) {
    const std::string& name = entry.first;
    if (used.contains(name) || copies.contains(name)) continue;
    candidates.push_back(name);
    const bool is_ignored = std::ranges::any_of(table.ignored, [&](const NamePattern& pattern) {
      return pattern.match(name).has_value() || pattern.match(table.optional + name).has_value();
    });
    if (!is_ignored) left.push_back(name);
  }
  for (const NamedType& weight : weights) {
    if (has(weight.name)) continue;
    const auto there = wanted.find(weight.name);
    const std::string expected = there == wanted.end() ? "" : there->second;
    if (missing.size() >= kMaxNamed) {
      missing.emplace_back();
      continue;
    }
    const std::string near = nearest(expected.empty() ? weight.name : expected, candidates);
    missing.push_back(fmt::format("'{}'{}{}", weight.name,
                                  expected.empty() ? " (no rule)" : fmt::format(" ('{}' there)", expected),
                                  near.empty() ? "" : fmt::format(", nearest '{}'", near)));
  }
  if (missing.empty() && left.empty()) return;
  std::string text = fmt::format("[names] {}: the tensors are not those of the network, got ", path);
  if (!missing.empty()) text += fmt::format("{} missing: {}", missing.size(), listed_names(missing));
  if (!left.empty()) {
    text += fmt::format("{}{} left over: {}", missing.empty() ? "" : "; ", left.size(), listed_names(left));
  }
  throw InvalidFile("{}; expected {} weights", text, weights.size());
}

void RenamedWeights::read(const std::string& name, const Box& box, DType dtype, void* to) const {
  const Found& found = found_.at(name);
  if (!found.is_stacked) return read_tensor(found, found.tensors[0], box, dtype, to);
  const Box rest(box.begin() + 1, box.end());
  const int64_t bytes = elements_of(rest) * static_cast<int64_t>(size_of(dtype));
  for (int64_t i = box[0].begin; i < box[0].end; ++i) {
    read_tensor(found, found.tensors[static_cast<size_t>(i)], rest, dtype,
                static_cast<char*>(to) + (i - box[0].begin) * bytes);
  }
}

void RenamedWeights::read_tensor(const Found& found, const std::string& tensor, const Box& box, DType dtype,
                                 void* to) const {
  Box there = box;
  if (!there.empty()) {
    there[0].begin += found.first_row;
    there[0].end += found.first_row;
  }
  if (found.is_transposed) there = exchanged(there);
  for (size_t d = 0; d < there.size(); ++d) there[d].size = found.shape[d];
  Box whole = there;
  const size_t rank = static_cast<size_t>(files_.types().at(tensor).rank());
  while (whole.size() < rank) whole.insert(whole.begin(), Range{0, 1, 1});
  if (!found.is_transposed || there.size() < 2) return files_.read(tensor, whole, dtype, to);
  const Shape shape = shape_of(there);
  std::vector<char> rows(static_cast<size_t>(elements_of(there)) * size_of(dtype));
  files_.read(tensor, whole, dtype, rows.data());
  transpose_last(rows.data(), to, shape, size_of(dtype));
}

}  // namespace partita

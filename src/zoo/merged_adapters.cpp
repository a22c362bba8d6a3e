#include "zoo/merged_adapters.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/fields.h"
#include "frontend/network/adapters.h"

namespace partita {
namespace {

/// Adds factor out[rows, rank] in[rank, columns] to the weight.
void add_product(Array& weight, const Array& in, const Array& out, double factor) {
  const int64_t rows = out.type().shape[0], rank = out.type().shape[1], columns = in.type().shape[1];
  std::vector<double> sums(static_cast<size_t>(columns));
  for (int64_t row = 0; row < rows; ++row) {
    std::ranges::fill(sums, 0);
    for (int64_t k = 0; k < rank; ++k) {
      const double scale = factor * out.at(row * rank + k);
      for (int64_t column = 0; column < columns; ++column) {
        sums[static_cast<size_t>(column)] += scale * in.at(k * columns + column);
      }
    }
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t i = row * columns + column;
      weight.set(i, weight.at(i) + sums[static_cast<size_t>(column)]);
    }
  }
}

}  // namespace

std::string without_adapters(const std::string& spec) {
  const size_t colon = spec.find(':');
  if (colon == std::string::npos) return spec;
  std::string kept;
  for (size_t begin = colon + 1; begin <= spec.size();) {
    const size_t end = std::min(spec.find(',', begin), spec.size());
    const std::string item = spec.substr(begin, end - begin);
    const std::string name = item.substr(0, item.find('=') + 1);
    constexpr std::array<std::string_view, 4> kOptions{"lora=", "lora_alpha=", "lora_layers=", "frozen="};
    if (std::ranges::find(kOptions, name) == kOptions.end()) kept += (kept.empty() ? ":" : ",") + item;
    begin = end + 1;
  }
  return spec.substr(0, colon) + kept;
}

void require_same_sizes(const std::string& where, const ZooModel& own, const ZooModel& other, bool tunes) {
  const std::set<std::string> free{"seq", "longest", "size", "dropout", "masked", "mask", "frozen"};
  const std::set<std::string> tuning{"lora", "lora_alpha", "lora_layers"};
  for (const auto& [name, value] : own.sizes) {
    if (free.contains(name) || (!tunes && tuning.contains(name))) continue;
    const auto found = other.sizes.find(name);
    const std::string got = found == other.sizes.end() ? "none" : found->second;
    if (own.name == other.name && got == value) continue;
    throw InvalidArgument("{}: additions for another model, got {} with {}={}, expected {} with {}={}", where,
                          other.name, name, got, own.name, name, value);
  }
}

ReadTensor merged(const ZooModel& model, const std::vector<std::string>& names, ReadTensor adapters, ReadTensor base) {
  double alpha = 0, rank = 0;
  from_text(model.sizes.at("lora_alpha"), alpha);
  from_text(model.sizes.at("lora"), rank);
  const std::set<std::string> known(names.begin(), names.end());
  return [=](const std::string& name) {
    Array weight = base(name);
    const std::string layer = name.substr(0, name.rfind('.') + 1);
    if (name != layer + "weight" || !known.contains(layer + std::string(kAdapterIn))) return weight;
    add_product(weight, adapters(layer + std::string(kAdapterIn)), adapters(layer + std::string(kAdapterOut)),
                alpha / rank);
    return weight;
  };
}

}  // namespace partita

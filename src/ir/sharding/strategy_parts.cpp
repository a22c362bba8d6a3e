#include "ir/sharding/strategy_parts.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace partita {
namespace {

class StrategyReader {
 public:
  StrategyReader(const CutTarget& target, const Mesh& mesh)
      : target_(target), rule_(target.rule), mesh_(mesh), read_{std::vector<int64_t>(rule_.factors.size(), 0), {}} {}

  FactorParts read_all(const ShardingAnnotation& annotation) {
    read(annotation.inputs, operands_of(target_));
    if (!annotation.outputs.empty()) {
      check_sizes(annotation.outputs, results_of(target_));
      for (size_t k = 0; k < annotation.outputs.size(); ++k) read_new_factors(k, annotation.outputs[k]);
    }
    return std::move(read_);
  }

 private:
  void check_sizes(const Strategy& strategy, const TensorSide& side) const {
    if (strategy.size() != side.maps.size()) {
      refuse_cut(target_, fmt::format("wrong number of {}s", side.name),
                 fmt::format("{} in {}", strategy.size(), partita::print(strategy)),
                 fmt::format("{}", side.maps.size()));
    }
    for (size_t i = 0; i < strategy.size(); ++i) {
      if (strategy[i].size() == side.maps[i].size()) continue;
      refuse_cut(target_, fmt::format("wrong number of dimensions of {} {}", side.name, i),
                 fmt::format("{} in {}", strategy[i].size(), partita::print(strategy)),
                 fmt::format("{}, as it is {}", side.maps[i].size(), partita::print(side.types[i])));
    }
  }

  void read(const Strategy& strategy, const TensorSide& side) {
    check_sizes(strategy, side);
    for (size_t i = 0; i < strategy.size(); ++i) {
      for (size_t d = 0; d < strategy[i].size(); ++d) read_dim(side, i, d, strategy[i][d]);
    }
  }

  /// Reads the parts of factors that only results have, such as the depth of one_hot, from the strategy of the results.
  /// Throws InvalidArgument if a dimension cannot be cut into that many parts or one index is cut in two ways.
  void read_new_factors(size_t result, const std::vector<int64_t>& parts) {
    for (size_t d = 0; d < parts.size(); ++d) {
      const std::vector<int>& factors = rule_.outputs[result][d].factors;
      const bool fresh = !factors.empty() && std::ranges::all_of(factors, [&](int f) { return !in_operand(rule_, f); });
      if (fresh) read_dim(results_of(target_), result, d, parts[d]);
    }
  }

  /// Returns the parts of each factor of a dimension, major first, or nothing if they do not divide.
  std::optional<std::vector<int64_t>> spread(const std::vector<int>& factors, int64_t parts) const {
    std::vector<int64_t> own(factors.size(), 1);
    std::vector<size_t> long_ones;  // factors of one element take no part
    for (size_t k = 0; k < factors.size(); ++k) {
      if (rule_.factors[factors[k]].size > 1) long_ones.push_back(k);
    }
    if (long_ones.empty() && !factors.empty()) long_ones.push_back(factors.size() - 1);
    for (const size_t k : long_ones) {
      const int64_t size = rule_.factors[factors[k]].size;
      own[k] = k == long_ones.back() ? parts : std::gcd(parts, size);
      parts /= own[k];
      const bool whole_before = own[k] == size || parts == 1;
      if (!whole_before || (long_ones.size() > 1 && size % own[k] != 0)) return std::nullopt;
    }
    if (parts > 1) return std::nullopt;
    return own;
  }

  void read_dim(const TensorSide& side, size_t tensor, size_t dim, int64_t parts) {
    const std::vector<int>& factors = side.maps[tensor][dim].factors;
    const auto own = spread(factors, parts);
    if (!own)
      refuse_dim(side, tensor, dim, parts, factors.empty() ? "it has one element" : "the parts would not be equal");
    for (size_t k = 0; k < factors.size(); ++k) set(side, tensor, dim, parts, factors[k], own->at(k));
  }

  void set(const TensorSide& side, size_t tensor, size_t dim, int64_t parts, int index, int64_t own) {
    const Factor& factor = rule_.factors[index];
    int64_t& known = read_.parts[index];
    if (known > 0 && known != own) {
      refuse_cut(target_, place_of(side, tensor, dim) + " is cut differently from an operand before it",
                 fmt::format("{} parts", parts), fmt::format("{}, as the same index has there", known));
    }
    known = own;
    if (own == 1) return;
    if (factor.cutting == Cutting::whole) refuse_dim(side, tensor, dim, parts, "the op needs it whole");
    if (factor.cutting == Cutting::expand && !target_.expandable) {
      refuse_dim(side, tensor, dim, parts, "the op cannot be computed in parts along it");
    }
    if (own > factor.size) refuse_dim(side, tensor, dim, parts, "there are fewer elements");
    if (read_.order.end() == std::ranges::find(read_.order, index)) read_.order.push_back(index);
  }

  [[noreturn]] void refuse_dim(const TensorSide& side, size_t tensor, size_t dim, int64_t parts,
                               const std::string& why) const {
    refuse_cut(target_,
               fmt::format("{} cannot be cut like this{}{}", place_of(side, tensor, dim), why.empty() ? "" : ": ", why),
               fmt::format("{} parts", parts), legal_parts(side, tensor, dim));
  }

  bool is_cuttable(int index, int64_t parts) const {
    const Factor& factor = rule_.factors[index];
    const bool free = factor.cutting == Cutting::free || (factor.cutting == Cutting::expand && target_.expandable);
    return free && parts <= factor.size;
  }

  /// Returns the numbers of parts that the mesh and the dimension allow, as text: "one of 1, 2, 4", or "1".
  std::string legal_parts(const TensorSide& side, size_t tensor, size_t dim) const {
    std::vector<int64_t> legal{1};
    const std::vector<int>& factors = side.maps[tensor][dim].factors;
    for (int64_t parts = 2; parts <= std::min(side.types[tensor].shape[dim], mesh_.ranks()); ++parts) {
      if (mesh_.ranks() % parts != 0) continue;
      const auto own = spread(factors, parts);
      bool can = own.has_value();
      for (size_t k = 0; can && k < factors.size(); ++k) can = own->at(k) == 1 || is_cuttable(factors[k], own->at(k));
      if (can) legal.push_back(parts);
    }
    return legal.size() == 1 ? "1" : fmt::format("one of {}", fmt::join(legal, ", "));
  }

  const CutTarget& target_;
  const ShardingRule& rule_;
  const Mesh& mesh_;
  FactorParts read_;
};

}  // namespace

TensorSide operands_of(const CutTarget& target) { return {"operand", target.rule.inputs, target.inputs}; }
TensorSide results_of(const CutTarget& target) { return {"result", target.rule.outputs, target.outputs}; }

std::string place_of(const TensorSide& side, size_t tensor, size_t dim) {
  return fmt::format("dimension {} of {} {}, {},", dim, side.name, tensor, partita::print(side.types[tensor]));
}

void refuse_cut(const CutTarget& target, const std::string& what, const std::string& got, const std::string& expected) {
  throw InvalidArgument("[shard] {}: {}, got {}, expected {}", target.node, what, got, expected);
}

bool in_operand(const ShardingRule& rule, int factor) {
  for (const TensorMap& map : rule.inputs) {
    for (const DimMap& dim : map) {
      if (std::ranges::find(dim.factors, factor) != dim.factors.end()) return true;
    }
  }
  return false;
}

FactorParts read_strategy(const ShardingAnnotation& annotation, const CutTarget& target, const Mesh& mesh) {
  return StrategyReader(target, mesh).read_all(annotation);
}

}  // namespace partita

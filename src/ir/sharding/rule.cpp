#include "ir/sharding/rule.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/floor_div.h"

namespace partita {

namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Returns the name of a factor. Throws InternalError beyond 52 factors; kMaxDims limits a rule to fewer.
char letter(size_t index) {
  PARTITA_CHECK(index < kLetters.size(), "a rule of more than {} factors", kLetters.size());
  return kLetters[index];
}

int add_factor(ShardingRule& rule, int64_t size, Cutting cutting = Cutting::free) {
  const int index = static_cast<int>(rule.factors.size());
  rule.factors.push_back({.name = letter(rule.factors.size()), .size = size, .cutting = cutting});
  return index;
}

}  // namespace

bool has_factor(const TensorMap& tensor, int factor) {
  return std::ranges::any_of(
      tensor, [&](const DimMap& dim) { return std::ranges::find(dim.factors, factor) != dim.factors.end(); });
}

Range chunk(int64_t size, int64_t i, int64_t n) {
  const auto bound = [=](int64_t k) { return k * (size / n) + k * (size % n) / n; };  // k * size would overflow
  return {bound(i), bound(i + 1), size};
}

Range required_range(const Window& window, const Range& factor, int64_t dim) {
  // Keeps rows that no window reaches, so that an uncut operand is held as it is stored.
  if (factor.whole()) return {0, dim, dim};
  const int64_t span = (window.size - 1) * window.dilation;
  int64_t begin, end;
  if (window.transposed) {
    begin = floor_div(factor.begin + window.pad - span, window.stride);
    end = floor_div(factor.end - 1 + window.pad, window.stride) + 1;
  } else {
    begin = factor.begin * window.stride - window.pad;
    end = (factor.end - 1) * window.stride - window.pad + span + 1;
  }
  begin = std::clamp<int64_t>(begin, 0, dim);
  end = factor.count() == 0 ? begin : std::clamp(end, begin, dim);
  return {begin, end, dim};
}

ShardingRule pointwise_rule(const OpCall& call) {
  PARTITA_CHECK(!call.outputs.empty(), "a pointwise op has an output");
  const Shape& shape = call.outputs[0].shape;
  ShardingRule rule;
  TensorMap output;
  for (int64_t size : shape) {
    DimMap dim;
    if (size != 1) dim.factors.push_back(add_factor(rule, size));
    output.push_back(dim);
  }
  for (const Type& type : call.inputs) {
    PARTITA_CHECK(type.shape.size() <= shape.size(), "{} does not broadcast to {}", print(type), print(shape));
    const size_t lead = shape.size() - type.shape.size();
    TensorMap input;
    for (size_t d = 0; d < type.shape.size(); ++d) {
      const int64_t size = type.shape[d];
      PARTITA_CHECK(size == 1 || size == shape[lead + d], "{} does not broadcast to {}", print(type), print(shape));
      input.push_back(size == 1 ? DimMap{} : output[lead + d]);
    }
    rule.inputs.push_back(input);
  }
  for (const Type& type : call.outputs) {
    PARTITA_CHECK(type.shape == shape, "outputs of a pointwise op differ: {}", print(call.outputs));
    rule.outputs.push_back(output);
  }
  return rule;
}

namespace {

/// One of the two shapes of a reshape: the current dimension and how much of it is not covered by factors yet.
struct Side {
  const Shape& shape;
  TensorMap map;
  size_t dim = 0;
  int64_t left = 1;

  explicit Side(const Shape& s) : shape(s), map(s.size()), left(s.empty() ? 1 : s[0]) { skip(); }
  bool done() const { return dim == shape.size(); }
  /// Moves to the first dimension, from the current one on, that factors do not cover completely; past the last one if
  /// there is none.
  void skip() {
    while (!done() && left == 1) left = ++dim < shape.size() ? shape[dim] : 1;
  }
  void take(int factor, int64_t size) {
    map[dim].factors.push_back(factor);
    left /= size;
    skip();
  }
};

/// Turns the coprime remainders into factors that are never cut, until both sides meet at a boundary.
void take_until_they_meet(ShardingRule& rule, Side& from, Side& to) {
  int64_t from_product = 1, to_product = 1;
  do {
    const bool from_is_smaller = from_product <= to_product;
    Side& side = from_is_smaller ? from : to;
    const int64_t size = side.left;
    (from_is_smaller ? from_product : to_product) *= size;
    side.take(add_factor(rule, size, Cutting::whole), size);
  } while (from_product != to_product);
}

}  // namespace

ShardingRule reshape_rule(const Shape& from_shape, const Shape& to_shape) {
  PARTITA_CHECK(elements(from_shape) == elements(to_shape), "{} cannot become {}", print(from_shape), print(to_shape));
  ShardingRule rule;
  if (elements(from_shape) == 0) {
    rule.inputs.emplace_back();
    rule.outputs.emplace_back();
    for (int64_t size : from_shape) rule.inputs[0].push_back({{add_factor(rule, size, Cutting::whole)}, {}});
    for (int64_t size : to_shape) rule.outputs[0].push_back({{add_factor(rule, size, Cutting::whole)}, {}});
  } else {
    Side from(from_shape), to(to_shape);
    while (!from.done() && !to.done()) {
      const int64_t common = std::gcd(from.left, to.left);
      if (common == 1) {
        take_until_they_meet(rule, from, to);
      } else {
        const int factor = add_factor(rule, common);
        from.take(factor, common);
        to.take(factor, common);
      }
    }
    rule.inputs = {std::move(from.map)};
    rule.outputs = {std::move(to.map)};
  }
  for (Factor& factor : rule.factors) factor.contributes_flops = false;  // data movement
  return rule;
}

namespace {

std::string print(const ShardingRule& rule, const TensorMap& tensor) {
  std::string text;
  for (const DimMap& dim : tensor) {
    std::string names;
    for (int factor : dim.factors) names += rule.factors[factor].name;
    if (names.empty()) {
      text += '1';
    } else if (dim.window) {
      text += dim.window->transposed ? "<" + names + ">" : "[" + names + "]";
    } else {
      text += names.size() == 1 ? names : "(" + names + ")";
    }
  }
  return text;
}

std::string print(const ShardingRule& rule, const std::vector<TensorMap>& tensors) {
  std::string text;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (i > 0) text += ',';
    text += print(rule, tensors[i]);
  }
  return text;
}

}  // namespace

std::string print(const ShardingRule& rule) {
  std::string text = print(rule, rule.inputs) + "->" + print(rule, rule.outputs);
  if (!rule.factors.empty()) text += " |";
  for (const Factor& factor : rule.factors) {
    text += fmt::format(" {}={}", factor.name, factor.size);
    if (factor.reduce == Reduce::max || factor.reduce == Reduce::min) {
      text += fmt::format(":{}", name_of(factor.reduce));
    }
    if (factor.cutting == Cutting::whole) text += ":whole";
    if (factor.cutting == Cutting::expand) text += ":expand";
    if (!factor.contributes_flops) text += factor.reduce == Reduce::sum ? ":lookup" : ":no_flops";
  }
  return text;
}

namespace {

std::string verify_dim(const ShardingRule& rule, const DimMap& dim, int64_t size) {
  int64_t product = 1;
  for (int factor : dim.factors) {
    if (factor < 0 || factor >= static_cast<int>(rule.factors.size())) return "names a factor that is not there";
    product *= rule.factors[factor].size;
  }
  if (!dim.window) return product == size ? "" : fmt::format("has factors of {}, expected {}", product, size);
  if (dim.factors.size() != 1) return "has a window over other than one factor";
  const Window& window = *dim.window;
  if (window.stride < 1 || window.dilation < 1 || window.size < 1) return "has a window without extent";
  return "";
}

std::string verify_tensors(const ShardingRule& rule, const std::vector<TensorMap>& maps, const std::vector<Type>& types,
                           std::string_view what) {
  if (maps.size() != types.size()) return fmt::format("{} {}s, expected {}", maps.size(), what, types.size());
  for (size_t i = 0; i < maps.size(); ++i) {
    if (maps[i].size() != types[i].shape.size()) {
      return fmt::format("{} {} has {} dimensions, expected {}", what, i, maps[i].size(), types[i].shape.size());
    }
    std::set<int> seen;
    for (size_t d = 0; d < maps[i].size(); ++d) {
      const std::string wrong = verify_dim(rule, maps[i][d], types[i].shape[d]);
      if (!wrong.empty()) return fmt::format("{} {} dimension {} {}", what, i, d, wrong);
      for (int factor : maps[i][d].factors) {
        if (!seen.insert(factor).second) {
          return fmt::format("{} {} has factor {} twice", what, i, rule.factors[factor].name);
        }
      }
    }
  }
  return "";
}

std::string verify_linear(const ShardingRule& rule) {
  std::set<int> seen;
  for (const Linear& group : rule.linear) {
    if (group.operands.empty()) return "a linear group is empty";
    for (int operand : group.operands) {
      if (operand < 0 || operand >= static_cast<int>(rule.inputs.size())) {
        return fmt::format("a linear group names operand {}, which is not there", operand);
      }
      if (!seen.insert(operand).second) return fmt::format("operand {} is in two linear groups", operand);
    }
  }
  return "";
}

}  // namespace

std::string verify(const ShardingRule& rule, const OpCall& call, bool has_expand) {
  std::string wrong = verify_tensors(rule, rule.inputs, call.inputs, "operand");
  if (wrong.empty()) wrong = verify_tensors(rule, rule.outputs, call.outputs, "output");
  if (wrong.empty()) wrong = verify_linear(rule);
  if (!wrong.empty()) return wrong;
  bool any_expand = false;
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    const Factor& factor = rule.factors[f];
    any_expand = any_expand || factor.cutting == Cutting::expand;
    if (factor.cutting != Cutting::free || factor.reduce != Reduce::none) continue;
    for (const TensorMap& output : rule.outputs) {
      if (!has_factor(output, static_cast<int>(f))) {
        return fmt::format("factor {} is missing from an output and has no reduction", factor.name);
      }
    }
  }
  if (any_expand && !has_expand) return "a factor is to be expanded and the op has no expansion";
  return "";
}

}  // namespace partita

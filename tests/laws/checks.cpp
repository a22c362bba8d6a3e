#include "checks.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/philox.h"
#include "ir/graph/builder.h"

namespace partita::laws {

std::string check_types(const Case& node) {
  for (const Array& output : node.outputs) {
    for (int64_t i = 0; i < output.type().elements(); ++i) {
      if (std::isnan(output.at(i))) return fmt::format("{}: element {} is NaN or not written", node.op.name, i);
    }
  }
  // More ranks than elements: the first rank holds nothing of the factor.
  const Mesh mesh({{"x", 31}});
  const ShardingRule rule = node.op.rule(node.call());
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    const Factor& factor = rule.factors[f];
    if (factor.cutting != Cutting::free || factor.size < 2 || factor.size >= 31) continue;
    Cut cut(rule.factors.size());
    cut[f] = {0};
    bool divided = false;  // a minor factor of a compound has no empty part
    for (const auto* tensors : {&rule.inputs, &rule.outputs}) {
      for (const TensorMap& tensor : *tensors) {
        for (const DimMap& dim : tensor) {
          for (size_t i = 1; i < dim.factors.size(); ++i) divided |= dim.factors[i] == static_cast<int>(f);
        }
      }
    }
    if (divided) continue;
    const Shard part = shard(rule, cut, mesh, mesh.coordinates(0), node.call());
    std::vector<Array> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) inputs.push_back(slice(node.inputs[i], part.inputs[i]));
    try {
      run(node.op, node.op.localize ? node.op.localize(node.attrs, part) : node.attrs, inputs);
    } catch (const InvalidArgument&) {  // an op may refuse to be empty
    }
  }
  return "";
}

std::string check_attributes(const Attrs& attrs) {
  if (attrs.empty()) return "";
  const Attrs back = attrs.parse(attrs.print());
  if (back != attrs) return fmt::format("{} reads back as {}", attrs.print(), back.print());
  if (back.hash() != attrs.hash()) return fmt::format("{} has another hash when read back", attrs.print());
  return "";
}

namespace {

std::vector<Value> make_inputs(Builder& builder, const Case& node) {
  std::vector<Value> values;
  for (const Type& type : node.input_types) {
    values.push_back(builder.input(fmt::format("input{}", values.size()), type));
  }
  return values;
}

}  // namespace

std::string check_expansion(const Case& node, const OpSet& ops) {
  Builder builder(ops);
  const std::vector<Value> inputs = make_inputs(builder, node);
  const std::vector<Value> outputs = node.op.expand({{builder, node.attrs, inputs}, node.output_types});
  if (outputs.size() != node.outputs.size()) {
    return fmt::format("{} outputs, expected {}", outputs.size(), node.outputs.size());
  }
  const std::vector<Array> values = evaluate(builder.graph(), node.inputs, ops);
  for (size_t k = 0; k < outputs.size(); ++k) {
    const std::string wrong = differs(values[outputs[k].id()], node.outputs[k]);
    if (!wrong.empty()) return fmt::format("output {}: {}", k, wrong);
  }
  return check_nodes(builder.graph(), values, ops);
}

std::vector<size_t> float_outputs(const Case& node) {
  std::vector<size_t> found;
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    if (is_float(node.output_types[k].dtype)) found.push_back(k);
  }
  return found;
}

namespace {

/// d(sum of weight * output) / d(operand), element by element: the outputs are subtracted before they
/// are summed, so that a large element elsewhere costs no digits.
Array differences(const Case& node, size_t operand, const std::vector<size_t>& arriving,
                  const std::vector<Array>& weights, double step) {
  std::vector<Array> moved = node.inputs;
  Array gradient(node.input_types[operand]);
  for (int64_t e = 0; e < gradient.type().elements(); ++e) {
    const double value = node.inputs[operand].at(e);
    moved[operand].set(e, value + step);
    const std::vector<Array> above = run(node.op, node.attrs, moved);
    moved[operand].set(e, value - step);
    const std::vector<Array> below = run(node.op, node.attrs, moved);
    moved[operand].set(e, value);
    double sum = 0;
    for (size_t k = 0; k < arriving.size(); ++k) {
      const Array& up = above[arriving[k]];
      const Array& down = below[arriving[k]];
      for (int64_t i = 0; i < up.type().elements(); ++i) {
        if (up.at(i) != down.at(i)) sum += weights[k].at(i) * (up.at(i) - down.at(i));
      }
    }
    gradient.set(e, sum / (2 * step));
  }
  return gradient;
}

}  // namespace

std::string check_gradient(const Case& node, const OpSet& ops, const std::vector<size_t>& arriving,
                           const std::vector<size_t>& constants) {
  Builder builder(ops);
  const std::vector<Value> inputs = make_inputs(builder, node);
  std::vector<Array> operands = node.inputs, weights;
  const std::vector<Value> outputs = builder.apply_all(node.op.name, inputs, node.attrs);
  std::vector<Value> d_outputs(outputs.size());
  bool coarse = false;  // differences of a rounded output
  for (size_t k : arriving) {
    d_outputs[k] = builder.input(fmt::format("d_output{}", k), node.output_types[k]);
    weights.push_back(fill(SampleInput{node.output_types[k]}, random_key(7, fmt::format("d_output{}", k))));
    operands.push_back(weights.back());
    coarse = coarse || node.output_types[k].dtype != DType::f64;
  }
  const std::vector<Value> gradients = node.op.grad({{builder, node.attrs, inputs}, outputs, d_outputs});
  if (gradients.size() != inputs.size()) {
    return fmt::format("{} gradients, expected {}", gradients.size(), inputs.size());
  }
  const std::vector<Array> values = evaluate(builder.graph(), operands, ops);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool constant = std::find(constants.begin(), constants.end(), i) != constants.end();
    if (constant || !is_float(node.input_types[i].dtype)) {
      if (gradients[i]) return fmt::format("operand {} of {} has a gradient", i, print(node.input_types[i]));
      continue;
    }
    const Array expected = differences(node, i, arriving, weights, coarse ? 0.03 : 1e-5);
    const Array got = gradients[i] ? values[gradients[i].id()] : Array(node.input_types[i]);
    const std::string wrong = differs(got, expected, coarse ? 0.05 : 1e-6);
    if (!wrong.empty()) return fmt::format("gradient of operand {}: {}", i, wrong);
  }
  return check_nodes(builder.graph(), values, ops);
}

std::optional<bool> fails_when_cut(const Case& node, int index) {
  ShardingRule rule = node.op.rule(node.call());
  Factor& factor = rule.factors[index];
  factor.cutting = Cutting::free;
  if (factor.reduce == Reduce::none) factor.reduce = Reduce::sum;
  std::optional<bool> fails;
  for (int64_t ways : {2, 3}) {
    const Mesh mesh({{"x", ways}});
    Cut cut(rule.factors.size());
    cut[index] = {0};
    if (illegal(rule, cut, mesh).empty()) {
      fails = fails.value_or(false) || !check_cut(node, rule, cut, mesh).empty();
    }
  }
  return fails;
}

namespace {

void multiply(Array& array, double factor) {
  for (int64_t i = 0; factor != 1 && i < array.type().elements(); ++i) array.set(i, array.at(i) * factor);
}

/// Zeros in the places where both are NaN.
void drop_common_nan(Array& a, Array& b) {
  for (int64_t i = 0; is_float(a.type().dtype) && i < a.type().elements(); ++i) {
    if (!std::isnan(a.at(i)) || !std::isnan(b.at(i))) continue;
    a.set(i, 0);
    b.set(i, 0);
  }
}

}  // namespace

bool commutes(const OpDef& op, const Sample& sample, const std::vector<int>& operands, Reduce kind, double factor) {
  const Case base(op, sample);
  std::vector<Array> combined = base.inputs;
  std::vector<Array> sums;
  for (uint64_t draw = 2; draw < 5; ++draw) {
    std::vector<Array> other = fill(sample, draw);
    for (int operand : operands) multiply(other[operand], factor);
    std::vector<Array> inputs = base.inputs;
    for (int operand : operands) {
      inputs[operand] = other[operand];
      if (draw == 2) {
        combined[operand] = other[operand];
      } else {
        reduce_into(combined[operand], other[operand], kind);
      }
    }
    const std::vector<Array> outputs = run(op, base.attrs, inputs);
    if (sums.empty()) {
      sums = outputs;
    } else {
      for (size_t k = 0; k < sums.size(); ++k) reduce_into(sums[k], outputs[k], kind);
    }
  }
  std::vector<Array> together = run(op, base.attrs, combined);
  for (size_t k = 0; k < sums.size(); ++k) {
    drop_common_nan(sums[k], together[k]);
    if (!differs(sums[k], together[k]).empty()) return false;
  }
  return true;
}

namespace {

bool commutes_at_any_size(const OpDef& op, Sample sample, const std::vector<int>& operands, Reduce kind) {
  for (int operand : operands) sample.inputs[operand].fill.kind = Fill::normal;
  const auto at = [&](double factor) { return commutes(op, sample, operands, kind, factor); };
  return at(0.1) && at(1) && at(10) && at(1000);
}

}  // namespace

std::string check_linear(const OpDef& op, const Sample& sample) {
  const Case node(op, sample);
  for (const Linear& group : op.rule(node.call()).linear) {
    for (int operand : group.operands) {
      if (!is_float(node.input_types[operand].dtype)) return fmt::format("operand {} is no float", operand);
    }
    for (Reduce kind : {Reduce::sum, Reduce::max, Reduce::min}) {
      if (!group.kinds.has(kind)) continue;
      const bool ordered = kind != Reduce::sum;
      if (!commutes(op, sample, group.operands, kind) ||
          (ordered && !commutes_at_any_size(op, sample, group.operands, kind))) {
        return fmt::format("the group of operand {} does not commute with {}", group.operands[0], name_of(kind));
      }
    }
  }
  return "";
}

namespace {

/// Declared, or another group already has one of the operands: groups are disjoint.
bool taken(const std::set<std::vector<int>>& declared, const std::vector<int>& operands) {
  return std::any_of(declared.begin(), declared.end(), [&](const std::vector<int>& group) {
    const auto in_group = [&](int operand) { return std::find(group.begin(), group.end(), operand) != group.end(); };
    const auto shared = std::count_if(operands.begin(), operands.end(), in_group);
    return group == operands || (shared > 0 && shared < static_cast<int64_t>(operands.size()));
  });
}

}  // namespace

std::string check_nothing_undeclared(const OpDef& op) {
  std::set<std::vector<int>> open;  // commute in every sample so far
  for (size_t s = 0; s < op.samples.size(); ++s) {
    const Sample& sample = op.samples[s];
    const Case node(op, sample);
    std::set<std::vector<int>> declared;
    for (const Linear& group : op.rule(node.call()).linear) {
      std::vector<int> operands = group.operands;
      std::sort(operands.begin(), operands.end());
      if (group.kinds.sum) declared.insert(operands);
    }
    std::set<std::vector<int>> found;
    const int count = static_cast<int>(node.inputs.size());
    for (int a = 0; a < count; ++a) {
      for (int b = a; b < count; ++b) {
        const std::vector<int> operands = a == b ? std::vector<int>{a} : std::vector<int>{a, b};
        const bool real = is_float(node.input_types[a].dtype) && is_float(node.input_types[b].dtype);
        if (!real || taken(declared, operands) || float_outputs(node).empty()) continue;
        if (commutes(op, sample, operands, Reduce::sum)) found.insert(operands);
      }
    }
    if (s == 0) {
      open = found;
    } else {
      std::erase_if(open, [&](const std::vector<int>& operands) { return found.count(operands) == 0; });
    }
  }
  return open.empty() ? "" : fmt::format("operands {} commute with sums, undeclared", fmt::join(*open.begin(), ","));
}

}  // namespace partita::laws

// Gradients of gradients: every op that the gradient of an op uses has a gradient itself, and that gradient is the
// difference of the first one.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/philox.h"
#include "compiler/autodiff/differentiate.h"
#include "harness.h"
#include "ir/graph/builder.h"
#include "ir/ops/reduce/attrs.h"
#include "ir/ops/registry.h"

namespace partita::laws {
namespace {

/// The gradients of a sample as a graph of its operands and the gradients of its results.
struct FirstGradient {
  FirstGradient(const OpDef& op, const Sample& sample, const OpSet& ops) : node(op, sample), builder(ops) {
    std::vector<Value> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      inputs.push_back(builder.input(fmt::format("input{}", i), node.input_types[i]));
      values.push_back(node.inputs[i]);
    }
    const std::vector<Value> outputs = builder.apply_all(op.name, inputs, node.attrs);
    std::vector<Value> d_outputs(outputs.size());
    operands = inputs;
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (!is_float(node.output_types[k].dtype)) continue;
      d_outputs[k] = builder.input(fmt::format("d_output{}", k), node.output_types[k]);
      values.push_back(fill(SampleInput{node.output_types[k]}, random_key(7, fmt::format("d_output{}", k))));
      operands.push_back(d_outputs[k]);
    }
    if (operands.size() == inputs.size()) return;  // a cast to integers
    for (const Value& d : op.grad({{builder, node.attrs, inputs}, outputs, d_outputs})) {
      if (!d) continue;
      gradients.push_back(d);
      weights.push_back(fill(SampleInput{d.type()}, random_key(11, fmt::format("weight{}", gradients.size()))));
    }
  }

  Case node;
  Builder builder;
  std::vector<Value> operands, gradients;
  std::vector<Array> values;   // operands
  std::vector<Array> weights;  // factors of the gradients
};

/// d(sum of weight * gradient) / d(operand) by central differences.
Array differences(const FirstGradient& first, const Graph& graph, size_t operand, const OpSet& ops, double step) {
  std::vector<Array> moved = first.values;
  Array result(moved[operand].type());
  for (int64_t e = 0; e < result.type().elements(); ++e) {
    const double value = first.values[operand].at(e);
    moved[operand].set(e, value + step);
    const std::vector<Array> above = evaluate(graph, moved, ops);
    moved[operand].set(e, value - step);
    const std::vector<Array> below = evaluate(graph, moved, ops);
    moved[operand].set(e, value);
    double sum = 0;
    for (size_t k = 0; k < first.gradients.size(); ++k) {
      const Array &up = above[first.gradients[k].id()], &down = below[first.gradients[k].id()];
      for (int64_t i = 0; i < up.type().elements(); ++i) sum += first.weights[k].at(i) * (up.at(i) - down.at(i));
    }
    result.set(e, sum / (2 * step));
  }
  return result;
}

/// "" or what is wrong with the gradient of the gradient of a sample.
std::string check_second(const OpDef& op, const Sample& sample, const OpSet& ops,
                         const std::vector<size_t>& constants = {}) {
  FirstGradient first(op, sample, ops);
  if (first.gradients.empty()) return "";
  Builder& builder = first.builder;
  const Graph graph = builder.graph();
  std::vector<Array> values = first.values;
  Value loss;
  for (size_t k = 0; k < first.gradients.size(); ++k) {
    const Value weight = builder.input(fmt::format("weight{}", k), first.weights[k].type());
    values.push_back(first.weights[k]);
    std::vector<int64_t> axes;
    for (int64_t d = 0; d < weight.type().rank(); ++d) axes.push_back(d);
    const Value part = builder.apply("reduce", {builder.apply("mul", {first.gradients[k], weight})},
                                     ReduceAttrs{.kind = Reduce::sum, .axes = axes});
    if (part.dtype() != DType::f64) return fmt::format("{} has a gradient of few digits", op.name);
    loss = loss ? builder.apply("add", {loss, part}) : part;
  }
  const std::vector<Value> second = differentiate(builder, loss, first.operands);
  const std::vector<Array> computed = evaluate(builder.graph(), values, ops);
  for (size_t i = 0; i < first.operands.size(); ++i) {
    const Type type = first.operands[i].type();
    if (type.dtype != DType::f64 || std::ranges::find(constants, i) != constants.end()) continue;
    const Array expected = differences(first, graph, i, ops, 1e-5);
    const Array got = second[i] ? computed[second[i].id()] : Array(type);
    const std::string wrong = differs(got, expected, 1e-6);
    if (!wrong.empty()) return fmt::format("gradient of the gradient by operand {}: {}", i, wrong);
  }
  return "";
}

/// Why ops have no gradient, by name. Updates of optimizers have none either.
const std::map<std::string, std::string>& without_gradient() {
  const char* part = "part of an expansion, which is made after the graph is differentiated";
  static const std::map<std::string, std::string> reasons{
      {"argmax", "its result is an integer"},
      {"attention_finish", part},
      {"attention_max", part},
      {"attention_sums", part},
      {"batch_norm_apply", part},
      {"batch_norm_grad_apply", part},
      {"host_function", "nothing is known of a function of the program"},
      {"moments_deviations", part},
      {"moments_finish", part},
      {"moments_sum", part},
      {"orthogonalize", "an update of an optimizer"},
      {"round", "mixed precision adds it after the graph is differentiated"},
      {"running_statistics", "states are no part of a loss"},
      {"write_rows", "states are no part of a loss"},
  };
  return reasons;
}

std::vector<const OpDef*> differentiable_ops() {
  std::vector<const OpDef*> found;
  for (const OpDef* op : every_op()) {
    if (op->grad) found.push_back(op);
  }
  return found;
}

class SecondDerivatives : public testing::TestWithParam<const OpDef*> {};

TEST_P(SecondDerivatives, GradientsUseOpsThatHaveGradients) {
  for (const Sample& sample : GetParam()->samples) {
    const FirstGradient first(*GetParam(), sample, all_ops());
    for (const Node& node : first.builder.graph().nodes) {
      EXPECT_TRUE(all_ops().at(node.op).grad) << node.op;
    }
  }
}

TEST_P(SecondDerivatives, AreDifferencesOfGradients) {
  // The running statistics count as constants.
  const std::vector<size_t> constants =
      GetParam()->name == "batch_norm_inference" ? std::vector<size_t>{3, 4} : std::vector<size_t>{};
  for (size_t i = 0; i < GetParam()->samples.size(); ++i) {
    EXPECT_EQ(check_second(*GetParam(), GetParam()->samples[i], all_ops(), constants), "") << "sample " << i;
  }
}

TEST(Gradients, OpsWithoutGradientHaveAReason) {
  for (const OpDef* op : every_op()) {
    EXPECT_EQ(op->grad == nullptr, op->update != nullptr || without_gradient().contains(op->name)) << op->name;
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, SecondDerivatives, testing::ValuesIn(differentiable_ops()),
                         [](const auto& info) { return info.param->name; });

/// Returns all ops, with `change` applied to the one of this name.
OpSet with_op(std::string_view name, const std::function<void(OpDef&)>& change) {
  std::vector<OpDef> ops = all_ops().all();
  for (OpDef& op : ops) {
    if (op.name == name) change(op);
  }
  return OpSet(std::move(ops));
}

TEST(SecondDerivativeFaults, AreFound) {
  const auto second_of = [](std::string_view name, const OpSet& ops) {
    return check_second(ops.at(name), ops.at(name).samples[0], ops);
  };
  const OpSet lost = with_op("silu_grad", [](OpDef& op) {
    op.grad = [right = op.grad](const GradCall& call) -> std::vector<Value> { return {right(call)[0], Value()}; };
  });
  EXPECT_NE(second_of("silu", lost), "");
  const OpSet swapped = with_op("scatter_rows", [](OpDef& op) {
    op.grad = [right = op.grad](const GradCall& call) -> std::vector<Value> {
      return {Value(), call.apply("neg", {right(call)[1]})};
    };
  });
  EXPECT_NE(second_of("embedding", swapped), "");
  const OpSet none = with_op("relu_grad", [](OpDef& op) { op.grad = nullptr; });
  EXPECT_THROW(second_of("relu", none), InvalidArgument);
}

}  // namespace
}  // namespace partita::laws

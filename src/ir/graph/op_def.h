#pragma once
// The contract of an op: everything the system needs to know of it, in one definition.

#include <functional>
#include <optional>
#include <span>

#include "base/op_call.h"
#include "ir/graph/graph.h"
#include "ir/sharding/rule.h"

namespace partita {

class Builder;
class Value;

using Inputs = std::span<const ConstTensor>;
using Outputs = std::span<const Tensor>;

/// What builds nodes for an op: a node with one output, or with several.
struct BuildCall {
  Builder& builder;
  const Attrs& attrs;
  std::vector<Value> inputs;

  Value apply(std::string_view op, const std::vector<Value>& operands, const Attrs& attributes = {}) const;
  std::vector<Value> apply_all(std::string_view op, const std::vector<Value>& operands,
                               const Attrs& attributes = {}) const;
};

/// What a gradient function sees: values of the forward node and the gradients that arrived.
struct GradCall : BuildCall {
  std::vector<Value> outputs;
  std::vector<Value> d_outputs;  // an empty Value where no gradient arrived
};

/// What an expansion sees: built from global types and attributes.
struct ExpandCall : BuildCall {
  const std::vector<Type>& outputs;
};

/// How the laws fill an operand: random values away from kinks.
struct Fill {
  enum Kind { normal, positive, distinct, unit, ids, boolean, step } kind = normal;
  int64_t below = 0;  // ids: in [0, below)
};
struct SampleInput {
  Type type;
  Fill fill = {};
};
/// One small case that every law runs on; floats are f64.
struct Sample {
  std::vector<SampleInput> inputs;
  Attrs attrs = {};
};

/// The formula of a pointwise op, bound to its attributes, as loops: result[i] is the formula of operands[k][i *
/// steps[k]] for i below `count`, where a step is 1, or 0 for an operand that stays. The result may lie in the place of
/// an operand of step 1. Made by `ir/ops/pointwise.h`.
struct Pointwise {
  template <class T>
  using Loop = std::function<void(const T* const* operands, const int64_t* steps, T* result, int64_t count)>;

  int operands = 1;
  Loop<double> f64;
  Loop<float> f32;
  Loop<int64_t> i64;  // empty: floats only
};

/// How an op normalises each channel over the rows of a batch.
struct BatchStatistics {
  int64_t groups = 1;  // groups of rows, each with statistics of its own
  int64_t values = 1;  // values that one statistic is computed from
};

/// What other folders ask of an op, so that none of them compares its name. Each member is optional.
struct OpTraits {
  /// Whether the result is the sum of the operands, so that what makes an operand can accumulate into it.
  bool is_sum = false;
  /// Whether the results hold every element of the operands, moved, repeated or converted, and no other element.
  bool moves_elements = false;
  /// Whether selective recomputation makes the results again in the backward.
  bool is_selected_for_recompute = false;
  /// Degree of the result in a number t when operand k is of degree `degrees[k]`, i.e. grows as t to that power.
  /// Nothing if the result is no such power. A maximum and a choice count as their fastest growing operand, an equality
  /// as constant: networks use them to guard a divisor against 0.
  std::function<std::optional<int>(const Attrs&, const std::vector<int>& degrees)> degree = nullptr;
  /// Attributes for one of `parts` equal parts of the operand, so that the results of all parts add up to the mean of
  /// the whole. Nothing if the node makes no mean.
  std::function<std::optional<Attrs>(const OpCall&, int64_t parts)> share_of_mean = nullptr;
  /// Number of rows of the table in operand 0, of which operand 1 holds row numbers.
  std::function<int64_t(const OpCall&)> table_rows = nullptr;
  /// Present for an op that normalises over the rows of a batch, and for its gradient.
  std::function<BatchStatistics(const OpCall&)> batch_statistics = nullptr;
};

struct OpDef {
  std::string name;
  std::string summary;  // one line: the formula
  Attrs attrs = {};     // default value; fixes the attribute type

  /// Output types, or InvalidArgument; rejects all that the kernel cannot take. Callable with local types.
  std::function<std::vector<Type>(const OpCall&)> infer;
  /// A function of types and attributes, never of a mesh or a plan.
  std::function<ShardingRule(const OpCall&)> rule;
  /// Optional: attributes on one shard; the identity on the whole.
  std::function<Attrs(const Attrs&, const Shard&)> localize = nullptr;
  /// One value per input, empty = none. Absent: a gradient arriving here is an error.
  std::function<std::vector<Value>(const GradCall&)> grad = nullptr;
  /// One value per output; present iff some factor is `expand`.
  std::function<std::vector<Value>(const ExpandCall&)> expand = nullptr;
  /// Floating-point operations per point of the iteration space: what a kernel has to compute, without its memory.
  double flops_per_point = 1;
  /// Plain loops over dense row-major operands; zero-sized operands are legal.
  std::function<void(const Attrs&, Inputs, Outputs)> kernel;
  /// Only of pointwise ops: what their kernels are made of, the reference and the vectorised one of a device.
  std::function<Pointwise(const Attrs&)> pointwise = nullptr;
  OpTraits traits = {};
  std::vector<Sample> samples;
};

/// The look-up of ops that graph functions are handed, so that `graph` does not depend on `ops`.
class OpSet {
 public:
  explicit OpSet(std::vector<OpDef> ops);
  /// Throws InvalidArgument with the nearest name.
  const OpDef& at(std::string_view name) const;
  const OpDef* find(std::string_view name) const;
  const std::vector<OpDef>& all() const { return ops_; }

 private:
  std::vector<OpDef> ops_;
  std::map<std::string, size_t, std::less<>> index_;
};

/// The sharding rule of a node of a graph.
ShardingRule rule_of(const Graph& graph, const Node& node, const OpSet& ops);

}  // namespace partita

#pragma once
// The definition of an op: everything the system needs to know about it.

#include <functional>
#include <optional>
#include <span>

#include "base/op_call.h"
#include "ir/graph/graph.h"
#include "ir/graph/id_operand.h"
#include "ir/graph/operand_rules.h"
#include "ir/graph/traced.h"
#include "ir/sharding/rule.h"

namespace partita {

class Builder;
class Value;

using Inputs = std::span<const ConstTensor>;
using Outputs = std::span<const Tensor>;

/// Context in which an op's functions build nodes.
struct BuildCall {
  Builder& builder;
  const Attrs& attrs;
  std::vector<Value> inputs;

  /// Adds a node and returns its first result. Throws InvalidArgument for an unknown op, attributes of another op, and
  /// operands that the op's `infer` rejects.
  Value apply(std::string_view op, const std::vector<Value>& operands, const Attrs& attributes = {}) const;
  /// Adds a node and returns all its results. Throws as `apply` does.
  std::vector<Value> apply_all(std::string_view op, const std::vector<Value>& operands,
                               const Attrs& attributes = {}) const;
};

/// Arguments of a gradient function: values of the forward node and the gradients that arrived.
struct GradCall : BuildCall {
  std::vector<Value> outputs;
  std::vector<Value> d_outputs;  // an empty Value where no gradient arrived
};

/// Arguments of an expansion, which builds nodes from global types and attributes.
struct ExpandCall : BuildCall {
  /// Global types of the node's results.
  const std::vector<Type>& outputs;
};

/// How the op tests fill an operand: with random values away from kinks.
struct Fill {
  enum Kind { normal, positive, above_one, distinct, unit, within, ids, boolean, step } kind = normal;
  int64_t below = 0;  // ids: in [0, below)
};
/// An operand of a sample.
struct SampleInput {
  Type type;
  Fill fill = {};
};
/// A small case that every op test runs on; floats are f64. Without `attrs` it gets the op's defaults.
struct Sample {
  std::vector<SampleInput> inputs;
  Attrs attrs = {};
};

/// The loops of a pointwise op, bound to its attributes: result[i] = formula(operands[k][i * steps[k]], ...) for i
/// below `count`. A step is 1, or 0 for an operand that is broadcast. `result` may alias an operand of step 1. Made by
/// `ir/ops/pointwise.h`.
struct Pointwise {
  template <class T>
  using Loop = std::function<void(const T* const* operands, const int64_t* steps, T* result, int64_t count)>;

  int operands = 1;
  Loop<double> f64;
  Loop<float> f32;
  Loop<int64_t> i64;  // empty: only floats are supported
  /// The formula on arrays of one shape, for compilers of accelerators.
  std::function<Traced(const std::vector<Traced>& operands)> traced = nullptr;
};

/// The loop of an update of an optimizer, bound to its attributes. The first operands, as many as `tensors`, have the
/// parameter's shape; the others are scalars that are the same for all elements. Made by `ir/optimizers/update_op.h`.
struct UpdateLoop {
  /// Computes elements [begin, end) of all results, which may alias the operands of `in_place`.
  using Run =
      std::function<void(std::span<const void* const> in, std::span<void* const> out, int64_t begin, int64_t end)>;

  size_t tensors = 0;
  std::vector<std::pair<int, int>> in_place;  // (operand, result)
  Run f64, f32;
};

/// How an op normalizes each channel over the rows of a batch.
struct BatchStatistics {
  int64_t groups = 1;  // groups of rows with separate statistics
  int64_t values = 1;  // values per statistic
};

/// The values that mixed precision keeps in 16 bits around an op (compiler/autodiff/mixed_precision.h). None by
/// default.
struct Halves {
  /// Operands that it rounds first: those of products.
  std::vector<int> operands = {};
  /// Number of results, the first ones, that it keeps in 16 bits.
  int results = 0;
  /// Whether it does so only if an operand has 16 bits.
  bool follow = false;
};

/// Properties of an op that other folders query instead of comparing its name. Each is optional.
struct OpTraits {
  Halves halves = {};
  /// Whether the result is the sum of the operands, so the producer of an operand can accumulate into it.
  bool is_sum = false;
  /// Whether the results hold every element of the operands, moved, repeated or converted, and nothing else.
  bool moves_elements = false;
  /// Whether the result is the operand with other digits: a cast or a rounding. Plans let it follow its operand.
  bool is_conversion = false;
  /// Whether selective recomputation recomputes the results in the backward pass.
  bool is_selected_for_recompute = false;
  /// Returns the degree of the result in a number t if operand k has degree `degrees[k]`, i.e. grows as t to that
  /// power. Returns nothing if the result has no degree. A maximum or a selection has the degree of its fastest-growing
  /// operand, and an equality is constant: networks use them to guard a divisor against 0.
  std::function<std::optional<int>(const Attrs&, const std::vector<int>& degrees)> degree = nullptr;
  /// Returns the attributes for one of `parts` equal parts of the operand, such that the results of all parts sum to
  /// the mean of the whole. Returns nothing if the node computes no mean.
  std::function<std::optional<Attrs>(const OpCall&, int64_t parts)> share_of_mean = nullptr;
  /// Returns the number of rows of the table in operand 0; operand 1 holds row numbers.
  std::function<int64_t(const OpCall&)> table_rows = nullptr;
  /// The ids that the kernel checks.
  IdOperand ids = {};
  /// Returns where the shard begins, the numbers of `EmitCall::begin` in its order and as many on each shard, and
  /// resets these and the sizes that types imply, so that the attributes of all shards become equal. An op that sets it
  /// reads both in `emit` from EmitCall::begin and from its types alone.
  std::function<std::vector<int64_t>(Attrs&)> take_place = nullptr;
  /// Returns how the op normalizes over the rows of a batch. Set for such ops and their gradients.
  std::function<BatchStatistics(const OpCall&)> batch_statistics = nullptr;
};

/// How cuDNN computes an op, as a call in a program.
struct CudnnCall {
  /// Returns why it does not compute the op with these local types and attributes, else "".
  std::function<std::string(const OpCall&)> refusal;
  /// Writes the call of an op that `refusal` does not refuse. Returns the results in the types of `EmitCall::outputs`:
  /// converts those that the library gives in fewer bits.
  std::function<std::vector<Hlo>(const EmitCall&)> emit;
};

/// Definition of one op. Members without a default are required.
struct OpDef {
  std::string name;
  std::string summary;  // one line: the formula
  Attrs attrs = {};     // default value; fixes the attribute type
  OperandRules operands = {};

  /// Infers the output types from global or local input types that follow `operands`. Throws InvalidArgument for
  /// everything that the kernel cannot take.
  std::function<std::vector<Type>(const OpCall&)> infer;
  /// Returns the sharding rule. It depends on types and attributes only, never on a mesh or a plan.
  std::function<ShardingRule(const OpCall&)> rule;
  /// Optional: returns the attributes on one shard, unchanged if the shard is the whole.
  std::function<Attrs(const Attrs&, const Shard&)> localize = nullptr;
  /// Optional: returns one gradient per input, empty = none. Without it, a gradient that arrives here is an error.
  /// Throws InvalidArgument for a gradient of a result through which none is defined.
  std::function<std::vector<Value>(const GradCall&)> grad = nullptr;
  /// Returns one value per output, built from other ops. Set if and only if a factor is `expand`.
  std::function<std::vector<Value>(const ExpandCall&)> expand = nullptr;
  /// Floating-point operations per point of the iteration space, not counting memory traffic.
  double flops_per_point = 1;
  /// Computes the outputs with plain loops over dense row-major operands, which may have zero elements. Throws
  /// InvalidArgument for numbers that the op refuses, such as an id or a label that is out of range, and for a host
  /// function that is missing. Throws what a host function throws.
  std::function<void(const Attrs&, Inputs, Outputs)> kernel;
  /// Only for pointwise ops: returns the loops from which the reference kernel and a device's vectorized kernel are
  /// made.
  std::function<Pointwise(const Attrs&)> pointwise = nullptr;
  /// Only for updates of optimizers that compute each element alone: returns the loop from which a device's vectorized
  /// kernel is made.
  std::function<UpdateLoop(const Attrs&)> update = nullptr;
  /// Optional: writes the op on one shard as StableHLO and returns its results. Without it, a pointwise op is written
  /// by its formula, and others by their expansion.
  std::function<std::vector<Hlo>(const EmitCall&)> emit = nullptr;
  std::optional<CudnnCall> cudnn = std::nullopt;
  OpTraits traits = {};
  std::vector<Sample> samples;
};

/// The set of all ops. Graph functions receive it, so that `graph` does not depend on `ops`.
class OpSet {
 public:
  /// Takes the definitions. Wraps each `infer` so that it also rejects operands that break the op's rules, and results
  /// that exceed the limits on dimensions and elements. Throws InternalError if two definitions have one name.
  explicit OpSet(std::vector<OpDef> ops);
  /// Returns the op of this name. Throws InvalidArgument with the nearest name if there is none.
  const OpDef& at(std::string_view name) const;
  /// Returns the op of this name, or null.
  const OpDef* find(std::string_view name) const;
  const std::vector<OpDef>& all() const { return ops_; }

 private:
  std::vector<OpDef> ops_;
  std::map<std::string, size_t, std::less<>> index_;
};

/// Returns the sharding rule of a node. Throws InvalidArgument for an unknown op.
ShardingRule rule_of(const Graph& graph, const Node& node, const OpSet& ops);

}  // namespace partita

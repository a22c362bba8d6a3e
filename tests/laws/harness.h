#pragma once
// One use of an op on real operands, cut in every legal way, computed on shards and put together.

#include <functional>

#include "ir/graph/op_def.h"
#include "ir/sharding/sharding.h"

namespace partita::laws {

/// All ops of the registry: what the laws run over.
std::vector<const OpDef*> every_op();

/// Operands of a sample, filled as it says; another `seed` gives other values.
std::vector<Array> fill(const Sample& sample, uint64_t seed = 1);
Array fill(const SampleInput& input, uint64_t key);

/// The part of a tensor that lies in `ranges`.
Array slice(const Array& array, const Box& ranges);
/// into[i] = kind(into[i], other[i]); NaN wins, as in the collectives.
void reduce_into(Array& into, const Array& other, Reduce kind);
/// "" or the first element that differs by more than rounding; `tolerance` is relative, 0: by the type.
std::string differs(const Array& got, const Array& expected, double tolerance = 0);

/// The reference kernel, after `infer`; throws when a written type would not be the inferred one.
std::vector<Array> run(const OpDef& op, const Attrs& attrs, const std::vector<Array>& inputs);

/// A node with its operands and its results on one rank.
class Case {
 public:
  Case(const OpDef& op, const Attrs& attrs, std::vector<Array> inputs);
  Case(const OpDef& op, const Sample& sample, uint64_t seed = 1);

  OpCall call() const { return {attrs, input_types, output_types}; }

  OpDef op;  // a copy, in which a fault can be planted
  Attrs attrs;
  std::vector<Array> inputs, outputs;
  std::vector<Type> input_types, output_types;
};

std::vector<Type> types_of(const std::vector<Array>& arrays);

/// The part of a case that a rank computes from its operands.
Case part_of(const Case& node, const Shard& shard);

/// [2] [3] [5] [2,2] [2,3] [3,2] [2,2,2].
const std::vector<Mesh>& meshes();
/// Every assignment of axes to factors, and the reversed order where two axes cut one factor.
void for_cuts(const ShardingRule& rule, const Mesh& mesh, const std::function<void(const Cut&)>& visit);
std::string print(const ShardingRule& rule, const Cut& cut, const Mesh& mesh);

/// "" or what is wrong with the part of an output that lies in `ranges`, after its sums over ranks have been added.
using ComparePart = std::function<std::string(size_t output, const Box& ranges, const Array& got)>;

/// Computes the case on every rank of a mesh and puts the parts together: "" or what went wrong. Without `compare`,
/// parts must be those of the case up to rounding.
std::string check_cut(const Case& node, const ShardingRule& rule, const Cut& cut, const Mesh& mesh);
std::string check_cut(const Case& node, const ShardingRule& rule, const Cut& cut, const Mesh& mesh,
                      const ComparePart& compare);
/// Law 3: every legal cut on every mesh, those that need the expansion left to its nodes.
std::string check_cuts(const Case& node);
std::string check_cuts(const Case& node, const ComparePart& compare);

/// Reference kernels over the nodes of a graph in order; every value is kept.
std::vector<Array> evaluate(const Graph& graph, const std::vector<Array>& inputs, const OpSet& ops);
/// Law 3 on every node of an evaluated graph with the operands it really has.
std::string check_nodes(const Graph& graph, const std::vector<Array>& values, const OpSet& ops);

}  // namespace partita::laws

#pragma once
// Cost of a forward node and its gradient nodes under a cut, without the values that it shares with other nodes.

#include <memory>
#include <unordered_map>

#include "compiler/search/reshard_costs.h"
#include "ir/graph/builder.h"
#include "ir/graph/rules.h"

namespace partita {

/// Gradients that a node takes part in.
struct NodeGradients {
  std::vector<bool> arriving;  // per result: whether its gradient arrives; empty: no gradients at all
  std::vector<bool> wanted;    // per operand: whether its gradient is needed
  int copies = 0;              // recomputations of the node in the backward pass
  bool any() const;
};

struct NodePrice {
  double seconds = 0;                          // seconds of all its nodes on one rank, and of moves between them
  std::vector<Sharding> makes;                 // per result
  std::vector<std::optional<Sharding>> gives;  // per operand: its gradient as it is made
  /// Whether gradients that arrive as partial sums are used without a reduction.
  bool takes_partial = true;
};

/// Steps of which the price of a node under a cut is made, for any costs: computations and moves, in their order.
struct PriceTrace {
  struct Step {
    double points = 0, bytes = 0;  // operations of a computation, and bytes that it reads and writes
    const Type* type = nullptr;    // type of a moved value; null: a computation
    std::vector<Sharding> from{};  // shardings of which the nearest is moved
    Sharding to{};
  };
  std::vector<Step> steps;
  size_t own = 0;   // number of steps of the node itself, which its recomputations repeat; the others are of gradients
  NodePrice price;  // without seconds
};

/// A node and its gradient nodes as a graph of their own, made once for all cuts. Not thread-safe: `expansion` and
/// `keep` change caches.
class NodeProgram {
 public:
  NodeProgram(const Graph& graph, const Node& node, const OpSet& ops, const NodeGradients& gradients,
              bool keeps_traces = false);

  const Graph& graph() const { return graph_; }
  const Rules& rules() const { return *rules_; }
  bool is_live(size_t node) const { return live_[node]; }
  const std::vector<ValueId>& operands() const { return operands_; }
  const std::vector<ValueId>& results() const { return results_; }
  /// Gradients of results that arrive, and of operands that are given; -1: none. A gradient that is passed on unchanged
  /// is both.
  const std::vector<ValueId>& arriving() const { return arriving_; }
  const std::vector<ValueId>& given() const { return given_; }
  /// Whether gradient nodes read a value.
  bool reads(ValueId value) const { return read_[value]; }
  int copies() const { return copies_; }
  /// Returns the expansion of a node of this graph, for cuts that need it. Lives as long as this object.
  const NodeProgram& expansion(size_t node) const;
  /// Returns the steps that were kept under a key of a cut, a mesh and shardings; null if there are none. They live as
  /// long as this object.
  const PriceTrace* trace(const std::string& key) const {
    const auto found = traces_.find(key);
    return found == traces_.end() ? nullptr : &found->second;
  }
  /// Keeps steps under a key. Their types must live as long as this object.
  void keep(std::string key, PriceTrace trace) const { traces_.emplace(std::move(key), std::move(trace)); }
  bool keeps_traces() const { return keeps_traces_; }

 private:
  NodeProgram(const OpSet& ops) : ops_(ops) {}
  void add_gradients(Builder& builder, const Node& node, const NodeGradients& gradients);
  void find_live();

  const OpSet& ops_;
  Graph graph_;
  std::unique_ptr<Rules> rules_;
  std::vector<ValueId> operands_, results_, arriving_, given_;
  std::vector<bool> live_, read_;
  int copies_ = 0;
  mutable std::unordered_map<size_t, std::unique_ptr<NodeProgram>> expansions_;
  bool keeps_traces_ = false;
  mutable std::unordered_map<std::string, PriceTrace> traces_;
};

/// Returns the sharding in which a node needs an operand under a cut, without halos. A dimension with a window and
/// fewer rows than parts is not cut.
Sharding required_sharding(const ShardingRule& rule, const Cut& cut, const TensorMap& map, const Type& type,
                           const Mesh& mesh);

/// Returns the price of a node, its recomputations and its gradient nodes under a cut. `needs`: sharding of each
/// operand. `wants`: sharding of the gradient of each result as it arrives; empty: price without gradient nodes.
NodePrice price_of(const NodeProgram& program, const Cut& cut, const std::vector<Sharding>& needs,
                   const std::vector<Sharding>& wants, const PlanCosts& costs, const Mesh& mesh,
                   ReshardCosts& reshards);

/// Returns the seconds of one node on the rank with the largest parts, in the unit of `costs` and without moves of its
/// operands.
double seconds_of(const Rules& rules, size_t node, const Graph& graph, const Cut& cut, const PlanCosts& costs,
                  const Mesh& mesh);

/// Returns the bytes of the largest part of a value that `dims` cut.
double largest_part(const Type& type, const std::vector<Axes>& dims, const Mesh& mesh);

}  // namespace partita

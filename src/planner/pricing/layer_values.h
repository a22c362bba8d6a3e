#pragma once
// The program of a rank as prices need it: the unit of each node, the size of each value, and who reads it.

#include "compiler/autodiff/recompute.h"
#include "compiler/partition/local_graph.h"
#include "compiler/partition/sections.h"
#include "ir/graph/rules.h"
#include "ir/work/repeated_layers.h"
#include "planner/cluster/compute_seconds.h"
#include "planner/pricing/precision.h"

namespace partita {

/// A number that is linear in the rows of a rank's micro-batch. `rows` is in units of `LoweringRequest::rows`.
struct PerRow {
  double fixed = 0, row = 0;
  double at(double rows) const { return fixed + row * rows; }
  void add(const PerRow& other, double times = 1) {
    fixed += times * other.fixed;
    row += times * other.row;
  }
};

/// All that it refers to must outlive its use.
struct LoweringRequest {
  const FoldedGraph& folded;
  const LocalGraph& local;  // training of the folded graph, in micro-batches of `rows`
  int64_t rows = 1;
  RuleTable& rules;
  const Cluster& cluster;
  Precision precision;
  Recompute recompute = Recompute::none;  // policy with which `local` was made
};

/// Properties of the nodes and values of a lowered training.
class LayerValues {
 public:
  /// The request must outlive this object.
  explicit LayerValues(const LoweringRequest& request);

  const LoweringRequest& request() const { return request_; }
  const SoftwareCosts& software() const { return request_.cluster.software; }
  const LocalGraph& local() const { return request_.local; }
  const Graph& graph() const { return request_.local.graph; }
  const Rules& rules() const { return rules_; }
  Phase phase(size_t node) const { return phases_[node]; }
  size_t unit(size_t node) const { return static_cast<size_t>(node_unit_[node]); }
  /// The unit that makes a value, or the first that uses it if it is an input or state; 0 if there is none.
  size_t unit_of_value(ValueId value) const { return static_cast<size_t>(std::max(0, value_unit_[value])); }

  /// Elements of a value on one rank, for the rows of the lowered micro-batch.
  double elements_of(ValueId value) const;
  /// Bytes of a value on one rank: f32 values at the precision of activations, others in their own type. They grow with
  /// the rows if micro-batches cut the value, else they are fixed.
  PerRow bytes_of(ValueId value) const;
  /// Work of a node on one rank, for the rows of the lowered micro-batch.
  Work work_at(size_t node) const;

  /// Whether a node runs in every micro-batch rather than once per step; true for all nodes if the program has no
  /// micro-batches.
  bool is_each_micro_batch(size_t node) const;
  /// Whether one of the axes is that of the micro-batches, so that what `axes` cut has a part per micro-batch. False
  /// without micro-batches.
  bool is_cut_by_rows(const Axes& axes) const;
  /// Whether a node is the copy of a forward node that the backward recomputes; false for the forward node itself.
  bool is_recomputed(size_t node) const;
  /// Whether a node is a backward node whose first output is read by the update only.
  bool is_of_gradient(size_t node) const;
  /// Whether the first output of a node is summed over micro-batches; in the backward this is a parameter's gradient.
  /// False without micro-batches.
  bool leads_to_weights(size_t node) const;
  /// Whether a backward node makes this value as the gradient of a parameter (`leads_to_weights`).
  bool is_gradient_of_state(ValueId value) const;
  /// Whether the backward reads a value.
  bool is_read(ValueId value) const { return is_read_[value]; }
  /// Whether the software gathers a value again in the backward instead of keeping it: the result of an all-gather of
  /// the forward that the backward reads.
  bool is_regathered(ValueId value) const;

 private:
  void find_units();
  int first_unit(const Node& node) const;
  void find_read();

  const LoweringRequest& request_;
  const Rules rules_;
  const std::vector<Section> sections_;
  const std::vector<Phase> phases_;
  const int micro_;
  std::vector<int> value_unit_, node_unit_;
  std::vector<bool> is_read_;     // per value: whether the backward reads it
  std::vector<bool> for_update_;  // per value: whether only the update reads it
};

}  // namespace partita

#pragma once
// The program of a rank as its price needs it: which unit a node belongs to, how large a value is, and who reads it.

#include "compiler/autodiff/recompute.h"
#include "compiler/partition/local_graph.h"
#include "compiler/partition/sections.h"
#include "ir/graph/rules.h"
#include "ir/work/repeated_layers.h"
#include "planner/cluster/compute_seconds.h"
#include "planner/pricing/precision.h"

namespace partita {

/// A number that grows with the rows of a rank's micro-batch.
struct PerRow {
  double fixed = 0, row = 0;
  double at(double rows) const { return fixed + row * rows; }
  void add(const PerRow& other, double times = 1) {
    fixed += times * other.fixed;
    row += times * other.row;
  }
};

struct LoweringRequest {
  const FoldedGraph& folded;
  const LocalGraph& local;  // of the folded graph's training, in micro-batches of `rows`
  int64_t rows = 1;
  RuleTable& rules;
  const Cluster& cluster;
  Precision precision;
  Recompute recompute = Recompute::none;  // that `local` was made with
};

class LayerValues {
 public:
  /// The request outlives this.
  explicit LayerValues(const LoweringRequest& request);

  const LoweringRequest& request() const { return request_; }
  const SoftwareCosts& software() const { return request_.cluster.software; }
  const LocalGraph& local() const { return request_.local; }
  const Graph& graph() const { return request_.local.graph; }
  const Rules& rules() const { return rules_; }
  Phase phase(size_t node) const { return phases_[node]; }
  size_t unit(size_t node) const { return static_cast<size_t>(node_unit_[node]); }
  /// The unit that makes a value, or uses it first.
  size_t unit_of_value(ValueId value) const { return static_cast<size_t>(std::max(0, value_unit_[value])); }

  double elements_of(ValueId value) const;
  PerRow bytes_of(ValueId value) const;
  Work work_at(size_t node) const;

  bool is_each_micro_batch(size_t node) const;
  bool is_cut_by_rows(const Axes& axes) const;
  /// Recomputed in the backward.
  bool is_again(size_t node) const;
  /// A sum that only the update reads.
  bool is_of_gradient(size_t node) const;
  /// Of a product of the backward: whether it makes the gradient of a parameter, which has no rows of the batch.
  bool leads_to_weights(size_t node) const;
  bool is_gradient_of_state(ValueId value) const;
  /// By the backward.
  bool is_read(ValueId value) const { return is_read_[value]; }
  /// A value that the software gathers again in the backward rather than keep it.
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
  std::vector<bool> is_read_;     // per value: by the backward
  std::vector<bool> for_update_;  // per value: whether the update alone reads it
};

}  // namespace partita

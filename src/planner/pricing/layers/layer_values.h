#pragma once
// The program of a rank as prices need it: the unit of each node, the size of each value, and who reads it.

#include "compiler/autodiff/recompute.h"
#include "compiler/partition/local_graph.h"
#include "compiler/partition/sections.h"
#include "ir/graph/rules.h"
#include "ir/work/repeated_layers.h"
#include "planner/cluster/compute_seconds.h"
#include "planner/pricing/layers/precision.h"

namespace partita {

/// The rows of a micro-batch relative to those of the lowered one: all of them, and those of one of the ranks that
/// divide them among each other.
struct RelativeRows {
  double all = 1, part = 1;
};

/// The lowered micro-batch, as the unit of rows.
struct LoweredRows {
  int64_t rows = 1;
  int64_t parts = 1;  // parts into which ranks divide the rows; 1: they do not
  /// The rows of a micro-batch of `count` rows. A part has at least one, and parts differ by at most one: the largest
  /// counts.
  RelativeRows of(int64_t count) const {
    const int64_t part = (count + parts - 1) / parts;
    return {static_cast<double>(count) / static_cast<double>(rows),
            static_cast<double>(part * parts) / static_cast<double>(rows)};
  }
};

/// How a number depends on the rows of a micro-batch.
enum class Growth {
  none,
  all,   // with the rows
  part,  // with the rows of one of the ranks that divide them
};

/// A number that is linear in the rows of a micro-batch, for the lowered one as the unit.
struct PerRow {
  double fixed = 0, row = 0, part = 0;
  static PerRow of(Growth growth, double number) {
    return growth == Growth::none  ? PerRow{.fixed = number}
           : growth == Growth::all ? PerRow{.row = number}
                                   : PerRow{.part = number};
  }
  double growing() const { return row + part; }  // for the lowered micro-batch
  double at(const RelativeRows& rows) const { return fixed + row * rows.all + part * rows.part; }
  void add(const PerRow& other, double times = 1) {
    fixed += times * other.fixed;
    row += times * other.row;
    part += times * other.part;
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
  /// Bytes of a value on one rank: f32 values at the precision of activations, others in their own type.
  PerRow bytes_of(ValueId value) const { return per_row(value, bytes_of_lowered(value)); }
  /// Returns a number that depends on the rows as the size of a value does.
  PerRow per_row(ValueId value, double number) const;
  /// Work of a node on one rank, for the rows of the lowered micro-batch.
  Work work_at(size_t node) const;

  /// Whether a node runs in every micro-batch rather than once per step; true for all nodes if the program has no
  /// micro-batches.
  bool is_each_micro_batch(size_t node) const;
  /// How the size of a dimension depends on the rows if `axes` cut it. It does if one of them is that of the
  /// micro-batches.
  Growth growth(const Axes& axes) const;
  LoweredRows rows() const { return {.rows = request_.rows, .parts = row_parts_}; }
  /// Whether a node is the copy of a forward node that the backward pass recomputes; false for the forward node itself.
  bool is_recomputed(size_t node) const;
  /// Whether a node is a backward node whose first output is read by the update only.
  bool is_of_gradient(size_t node) const;
  /// Whether the first output of a node is summed over micro-batches; in the backward pass this is a parameter's
  /// gradient. False without micro-batches.
  bool leads_to_weights(size_t node) const;
  /// Whether a backward node makes this value as the gradient of a parameter (`leads_to_weights`).
  bool is_gradient_of_state(ValueId value) const;
  /// Whether the backward pass reads a value.
  bool is_read(ValueId value) const { return is_read_[value]; }
  /// Whether the software gathers a value again in the backward pass instead of keeping it: the result of an all-gather
  /// of the forward pass that the backward pass reads.
  bool is_regathered(ValueId value) const;

 private:
  int64_t find_row_parts() const;
  double bytes_of_lowered(ValueId value) const;
  void find_units();
  int first_unit(const Node& node) const;
  void find_read();

  const LoweringRequest& request_;
  const Rules rules_;
  const std::vector<Section> sections_;
  const std::vector<Phase> phases_;
  const int micro_;
  const int64_t row_parts_;  // parts into which ranks divide the rows of a micro-batch; 1: they do not
  std::vector<int> value_unit_, node_unit_;
  std::vector<bool> is_read_;     // per value: whether the backward pass reads it
  std::vector<bool> for_update_;  // per value: whether only the update reads it
};

}  // namespace partita

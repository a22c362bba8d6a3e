#include "planner/pricing/layers/layer_values.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/partition/collectives.h"
#include "ir/sharding/move.h"
#include "ir/work/node_work.h"

namespace partita {

LayerValues::LayerValues(const LoweringRequest& request)
    : request_(request),
      rules_(graph(), request.rules),
      sections_(sections_of(request.local)),
      phases_(phases_of(request.local)),
      micro_(request.local.mesh.micro_axis()),
      row_parts_(find_row_parts()),
      value_unit_(graph().values.size(), -1),
      is_read_(graph().values.size(), false),
      for_update_(graph().values.size(), false) {
  find_units();
  find_read();
}

/// Returns the largest number of parts into which ranks divide the rows of a micro-batch.
int64_t LayerValues::find_row_parts() const {
  int64_t most = 1;
  for (const Sharding& sharding : local().shardings) {
    for (const Axes& axes : sharding.dims) {
      const bool is_cut_by_rows = std::ranges::find(axes, micro_) != axes.end();
      if (is_cut_by_rows) most = std::max(most, local().mesh.ways(axes) / local().mesh.micro_batches());
    }
  }
  return most;
}

/// Finds units by name: forward nodes are named as in the folded graph, and gradients have that name as their origin. A
/// node that moves a value belongs to the unit that makes the value, or else to the first that uses it.
void LayerValues::find_units() {
  std::unordered_map<std::string_view, int> by_name;
  for (size_t u = 0; u < request_.folded.units.size(); ++u) {
    const FoldedUnit& unit = request_.folded.units[u];
    for (size_t n = unit.begin; n < unit.end; ++n) by_name[request_.folded.graph.nodes[n].name] = static_cast<int>(u);
  }
  node_unit_.assign(graph().nodes.size(), -1);
  for (size_t n = 0; n < graph().nodes.size(); ++n) {
    const Node& node = graph().nodes[n];
    for (const std::string* name : {&node.origin, &node.name}) {
      const auto known = by_name.find(*name);
      if (node_unit_[n] < 0 && known != by_name.end()) node_unit_[n] = known->second;
    }
    if (node_unit_[n] < 0) node_unit_[n] = first_unit(node);
    for (ValueId output : node.outputs) value_unit_[output] = node_unit_[n];
  }
  for (size_t n = graph().nodes.size(); n-- > 0;) {  // made only from inputs and states
    const Node& node = graph().nodes[n];
    for (ValueId output : node.outputs) {
      if (node_unit_[n] < 0) node_unit_[n] = value_unit_[output];
    }
    node_unit_[n] = std::max(node_unit_[n], 0);
    for (ValueId input : node.inputs) {
      if (graph().values[input].producer < 0) value_unit_[input] = node_unit_[n];
    }
  }
}

/// The first unit of the operands, or -1 if none of them has one. So a sum of gradients belongs to the layer that made
/// the value: its own gradients are operands, and those of later layers arrive through them.
int LayerValues::first_unit(const Node& node) const {
  int first = -1;
  for (ValueId input : node.inputs) {
    const int unit = value_unit_[input];
    if (unit >= 0 && (first < 0 || unit < first)) first = unit;
  }
  return first;
}

double LayerValues::elements_of(ValueId value) const {
  return local_elements(graph().type(value), local().shardings[value].dims, local().mesh);
}

double LayerValues::bytes_of_lowered(ValueId value) const {
  const DType dtype = graph().type(value).dtype;
  const double element = dtype == DType::f32 ? request_.precision.activation : static_cast<double>(size_of(dtype));
  return elements_of(value) * element;
}

PerRow LayerValues::per_row(ValueId value, double number) const {
  Growth most = Growth::none;
  for (const Axes& axes : local().shardings[value].dims) most = std::max(most, growth(axes));
  return PerRow::of(most, number);
}

Growth LayerValues::growth(const Axes& axes) const {
  if (std::ranges::find(axes, micro_) == axes.end()) return Growth::none;
  const bool is_divided = row_parts_ > 1 && local().mesh.ways(axes) / local().mesh.micro_batches() == row_parts_;
  return is_divided ? Growth::part : Growth::all;
}

/// Finds the values that the backward pass reads, and those that only the update reads.
void LayerValues::find_read() {
  std::vector<bool> in_forward(graph().values.size(), false);
  for (size_t n = 0; n < graph().nodes.size(); ++n) {
    auto& readers = phases_[n] == Phase::backward ? is_read_ : phases_[n] == Phase::update ? for_update_ : in_forward;
    for (ValueId input : graph().nodes[n].inputs) readers[input] = true;
  }
  for (size_t v = 0; v < is_read_.size(); ++v) for_update_[v] = for_update_[v] && !is_read_[v] && !in_forward[v];
}

Work LayerValues::work_at(size_t n) const {
  return work_of(graph(), rules_, n, local().cuts[n], local().shardings, local().mesh);
}

bool LayerValues::is_each_micro_batch(size_t n) const { return micro_ < 0 || is_micro(sections_[n]); }

bool LayerValues::is_recomputed(size_t n) const {
  return phases_[n] == Phase::backward && !graph().nodes[n].recompute.empty();
}

bool LayerValues::is_of_gradient(size_t n) const {
  return phases_[n] == Phase::backward && for_update_[graph().nodes[n].outputs[0]];
}

bool LayerValues::leads_to_weights(size_t n) const {
  const Sharding& made = local().shardings[graph().nodes[n].outputs[0]];
  return micro_ >= 0 && std::ranges::find(made.partial, micro_) != made.partial.end();
}

bool LayerValues::is_gradient_of_state(ValueId value) const {
  const NodeId producer = graph().values[value].producer;
  return producer >= 0 && phases_[producer] == Phase::backward && leads_to_weights(static_cast<size_t>(producer));
}

bool LayerValues::is_regathered(ValueId value) const {
  const NodeId producer = graph().values[value].producer;
  return software().regathers && producer >= 0 && is_read_[value] && phases_[producer] == Phase::forward &&
         collective_of(graph().nodes[producer]) == Collective::all_gather;
}

}  // namespace partita

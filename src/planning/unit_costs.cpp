#include "planning/unit_costs.h"

#include <algorithm>
#include <unordered_map>

#include "cluster/collective_seconds.h"
#include "partition/collectives.h"
#include "partition/sections.h"
#include "lowering/node_work.h"
#include "sharding/move.h"

namespace partita {
namespace {

/// A value that grows with the rows of a micro-batch is cut by them.
bool grows_with_rows(const Sharding& sharding, int micro_axis) {
  return std::any_of(sharding.dims.begin(), sharding.dims.end(),
                     [&](const Axes& axes) { return std::find(axes.begin(), axes.end(), micro_axis) != axes.end(); });
}

}  // namespace

class LayerLowering {
 public:
  LayerLowering(const LoweringRequest& request, LoweredLayers& lowered)
      : request_(request),
        lowered_(lowered),
        local_(request.local),
        graph_(request.local.graph),
        rules_(graph_, request.ops),
        sections_(sections_of(local_)),
        phases_(phases_of(local_)),
        micro_(local_.mesh.micro_axis()),
        state_(graph_.values.size(), -1),
        value_unit_(graph_.values.size(), -1) {
    const size_t units = request.folded.units.size();
    lowered.kept_.resize(units);
    lowered.boundaries_.resize(units);
    lowered.states_.resize(units);
    for (size_t s = 0; s < graph_.states.size(); ++s) state_[graph_.states[s].entry] = static_cast<int>(s);
  }

  void run() {
    find_units();
    for (size_t n = 0; n < graph_.nodes.size(); ++n) lower(n);
    weigh_states();
    weigh_kept();
    weigh_boundaries();
    follow_memory();
  }

 private:
  size_t unit(size_t n) const { return static_cast<size_t>(node_unit_[n]); }

  /// Forward nodes have the names that they have in the folded graph; gradients the origin; what moves a value belongs
  /// where that was made, or where it is used first.
  void find_units() {
    std::unordered_map<std::string_view, int> by_name;
    for (size_t u = 0; u < request_.folded.units.size(); ++u) {
      const FoldedUnit& unit = request_.folded.units[u];
      for (size_t n = unit.begin; n < unit.end; ++n) by_name[request_.folded.graph.nodes[n].name] = static_cast<int>(u);
    }
    node_unit_.assign(graph_.nodes.size(), -1);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      for (const std::string* name : {&node.origin, &node.name}) {
        const auto known = by_name.find(*name);
        if (node_unit_[n] < 0 && known != by_name.end()) node_unit_[n] = known->second;
      }
      if (node_unit_[n] < 0) node_unit_[n] = first_unit(node);
      for (ValueId output : node.outputs) value_unit_[output] = node_unit_[n];
    }
    for (size_t n = graph_.nodes.size(); n-- > 0;) {  // what is made of inputs and states alone
      const Node& node = graph_.nodes[n];
      for (ValueId output : node.outputs) {
        if (node_unit_[n] < 0) node_unit_[n] = value_unit_[output];
      }
      node_unit_[n] = std::max(node_unit_[n], 0);
      for (ValueId input : node.inputs) {
        if (graph_.values[input].producer < 0) value_unit_[input] = node_unit_[n];
      }
    }
  }

  /// Of the operands. A sum of gradients belongs to the layer that made the value, whose own gradients it has; those of
  /// the layers behind it come through them.
  int first_unit(const Node& node) const {
    int first = -1;
    for (ValueId input : node.inputs) {
      const int unit = value_unit_[input];
      if (unit >= 0 && (first < 0 || unit < first)) first = unit;
    }
    return first;
  }

  double elements_of(ValueId value) const {
    return local_elements(graph_.type(value), local_.shardings[value].dims, local_.mesh);
  }

  PerRow bytes_of(ValueId value) const {
    const DType dtype = graph_.type(value).dtype;
    const double element = dtype == DType::f32 ? request_.precision.activation : static_cast<double>(size_of(dtype));
    const double bytes = elements_of(value) * element;
    return grows_with_rows(local_.shardings[value], micro_) ? PerRow{0, bytes} : PerRow{bytes, 0};
  }

  static void add(PerRow& sum, const PerRow& other) {
    sum.fixed += other.fixed;
    sum.row += other.row;
  }

  bool is_each_micro_batch(size_t n) const { return micro_ < 0 || is_micro(sections_[n]); }

  void lower(size_t n) {
    if (phases_[n] == Phase::update) return;  // priced with the states, of which each rank may update a part
    const Node& node = graph_.nodes[n];
    const bool backward = phases_[n] == Phase::backward;
    if (const std::optional<Collective> kind = collective_of(node)) {
      if (is_local(*kind) || !is_each_micro_batch(n)) return;
      const ValueId whole = *kind == Collective::all_gather ? node.outputs[0] : node.inputs[0];
      lowered_.messages_.push_back({unit(n), backward, *kind, bytes_of(whole), place(n)});
      return;
    }
    LoweredLayers::Kernel kernel{.unit = unit(n), .backward = backward};
    kernel.work = work_of(graph_, rules_, n, local_.cuts[n], local_.shardings, local_.mesh);
    if (kernel.work.dtype == DType::f32) kernel.work.dtype = request_.precision.compute;
    for (const auto* values : {&node.inputs, &node.outputs}) {
      for (ValueId value : *values) add(kernel.bytes, bytes_of(value));
    }
    kernel.weights = backward && leads_to_weights(n);
    for (size_t f = 0; f < local_.cuts[n].size(); ++f) {
      const Axes& axes = local_.cuts[n][f];
      if (std::find(axes.begin(), axes.end(), micro_) == axes.end()) continue;
      kernel.grows = true;
      if (kernel.work.kind == WorkKind::product) kernel.scaled = product_size(rules_[n], static_cast<int>(f));
    }
    lowered_.kernels_.push_back(std::move(kernel));
  }

  /// Of a product of the backward: whether it makes the gradient of a parameter, which has no rows of the batch.
  bool leads_to_weights(size_t n) const {
    const Sharding& made = local_.shardings[graph_.nodes[n].outputs[0]];
    return micro_ >= 0 && std::find(made.partial.begin(), made.partial.end(), micro_) != made.partial.end();
  }

  const GroupPlace& place(size_t n) {
    const Axes axes = axes_of(graph_.nodes[n], local_.mesh);
    const auto [entry, fresh] = places_.try_emplace(axes);
    if (fresh) {
      Axes of_all;
      for (int axis : axes) of_all.push_back(request_.ranks.axis(local_.mesh.axes()[static_cast<size_t>(axis)].name));
      entry->second = place_of(request_.ranks, of_all, 0, request_.cluster);
    }
    return entry->second;
  }

  void weigh_states() {
    std::unordered_map<std::string_view, int> units;
    std::vector<int> last_unit(graph_.values.size(), -1);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (graph_.nodes[n].phase != Phase::forward) continue;
      for (ValueId input : graph_.nodes[n].inputs) {
        if (state_[input] >= 0) last_unit[input] = std::max(last_unit[input], node_unit_[n]);
      }
    }
    for (const State& state : graph_.states) {
      if (state.kind == StateKind::optimizer) continue;
      const int own = std::max(0, value_unit_[state.entry]);
      units[graph_.values[state.entry].name] = own;
      if (state.kind != StateKind::parameter) continue;
      lowered_.states_[own].parameters += elements_of(state.entry);
      if (last_unit[state.entry] > own) lowered_.states_[last_unit[state.entry]].tied += elements_of(state.entry);
    }
    for (const State& state : graph_.states) {
      const auto owner = units.find(state.owner);
      if (state.kind == StateKind::optimizer && owner != units.end())
        lowered_.states_[owner->second].optimizer += elements_of(state.entry);
    }
  }

  /// What the forward makes and the backward reads.
  void weigh_kept() {
    std::vector<bool> is_read(graph_.values.size(), false);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (phases_[n] != Phase::backward) continue;
      for (ValueId input : graph_.nodes[n].inputs) is_read[input] = true;
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (phases_[n] != Phase::forward || !is_each_micro_batch(n)) continue;
      for (ValueId output : graph_.nodes[n].outputs) {
        if (is_read[output]) add(lowered_.kept_[unit(n)], bytes_of(output));
      }
    }
    for (const Input& input : graph_.inputs) {
      if (input.batch_dim >= 0) add(lowered_.inputs_, bytes_of(input.value));
    }
  }

  /// What units get from those in front, in the forward.
  void weigh_boundaries() {
    std::vector<int> furthest(graph_.values.size(), -1);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (phases_[n] != Phase::forward) continue;
      for (ValueId input : graph_.nodes[n].inputs) furthest[input] = std::max(furthest[input], node_unit_[n]);
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (phases_[n] != Phase::forward || !is_each_micro_batch(n)) continue;
      for (ValueId output : graph_.nodes[n].outputs) {
        for (int u = node_unit_[n] + 1; u <= furthest[output]; ++u) add(lowered_.boundaries_[u], bytes_of(output));
      }
    }
  }

  /// What is alive in a micro-batch; gradients of parameters are counted apart.
  void follow_memory() {
    std::vector<NodeId> order;
    for (const SectionNodes& section : in_sections(local_)) {
      if (section.section == Section::late || section.section == Section::update) continue;
      for (NodeId node : section.nodes) {
        if (phases_[node] != Phase::update) order.push_back(node);
      }
    }
    std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return phases_[a] < phases_[b]; });
    std::vector<size_t> last_use(graph_.values.size(), 0);
    for (size_t i = 0; i < order.size(); ++i) {
      for (ValueId input : graph_.nodes[order[i]].inputs) last_use[input] = i + 1;
    }
    for (size_t i = 0; i < order.size(); ++i) {
      const Node& node = graph_.nodes[order[i]];
      LoweredLayers::Change& change = lowered_.changes_.emplace_back();
      for (ValueId output : node.outputs) {
        if (last_use[output] > 0 && !is_gradient_of_state(output)) add(change.made, bytes_of(output));
      }
      for (ValueId input : node.inputs) {
        if (graph_.values[input].producer < 0 || last_use[input] != i + 1 || is_gradient_of_state(input)) continue;
        add(change.freed, bytes_of(input));
        last_use[input] = 0;  // an operand that a node takes twice is freed once
      }
    }
  }

  bool is_gradient_of_state(ValueId value) const {
    const NodeId producer = graph_.values[value].producer;
    return producer >= 0 && phases_[producer] == Phase::backward && leads_to_weights(static_cast<size_t>(producer));
  }

  const LoweringRequest& request_;
  LoweredLayers& lowered_;
  const LocalGraph& local_;
  const Graph& graph_;
  const Rules rules_;
  const std::vector<Section> sections_;
  const std::vector<Phase> phases_;
  const int micro_;
  std::vector<int> state_;       // per value: the state that it is at entry, or -1
  std::vector<int> value_unit_;  // per value: the unit that makes it, or uses it first
  std::vector<int> node_unit_;
  std::map<Axes, GroupPlace> places_;
};

LoweredLayers::LoweredLayers(const LoweringRequest& request) { LayerLowering(request, *this).run(); }

LayerCosts LoweredLayers::costs(int64_t rows, const Cluster& cluster) const {
  LayerCosts costs{.units = states_, .workspace = 0, .inputs = inputs_.at(rows)};
  const DeviceSpec device = cluster.rank_device();
  for (const Kernel& kernel : kernels_) {
    UnitCosts& unit = costs.units[kernel.unit];
    SectionCosts& section = kernel.backward ? unit.backward : unit.forward;
    Work work = kernel.work;
    work.bytes = kernel.bytes.at(rows);
    if (kernel.grows) work.flops *= static_cast<double>(rows);
    if (kernel.scaled != nullptr) work.*kernel.scaled *= static_cast<double>(rows);
    const double seconds = seconds_of(work, device);
    section.compute += seconds;
    section.flops += work.flops;
    if (kernel.weights) unit.backward_weights += seconds;
  }
  for (const Message& message : messages_) {
    UnitCosts& unit = costs.units[message.unit];
    SectionCosts& section = message.backward ? unit.backward : unit.forward;
    section.communication[message.kind] += seconds_of(message.kind, message.bytes.at(rows), message.place, cluster);
  }
  double kept = 0, live = 0, most = 0;
  for (size_t u = 0; u < costs.units.size(); ++u) {
    costs.units[u].kept = kept_[u].at(rows);
    costs.units[u].boundary = boundaries_[u].at(rows);
    kept += costs.units[u].kept;
  }
  for (const Change& change : changes_) {
    live += change.made.at(rows);
    most = std::max(most, live);
    live -= change.freed.at(rows);
  }
  costs.workspace = std::max(0.0, most - kept);
  return costs;
}

Precision Precision::of(DType dtype) {
  const double bytes = static_cast<double>(size_of(dtype));
  if (bytes >= 4) return {.compute = dtype, .activation = bytes, .weight = bytes, .gradient = bytes, .state = bytes};
  return {.compute = dtype, .activation = bytes, .weight = bytes, .gradient = 4, .master = 4};
}

double SectionCosts::seconds() const {
  double sum = compute;
  for (const auto& [kind, seconds] : communication) sum += seconds;
  return sum;
}

void SectionCosts::add(const SectionCosts& other, double times) {
  flops += times * other.flops;
  compute += times * other.compute;
  for (const auto& [kind, seconds] : other.communication) communication[kind] += times * seconds;
}

void UnitCosts::add(const UnitCosts& other, double times) {
  forward.add(other.forward, times);
  backward.add(other.backward, times);
  backward_weights += times * other.backward_weights;
  parameters += times * other.parameters;
  tied += times * other.tied;
  optimizer += times * other.optimizer;
  kept += times * other.kept;
}

}  // namespace partita

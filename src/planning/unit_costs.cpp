#include "planning/unit_costs.h"

#include <algorithm>
#include <unordered_map>

#include "cluster/collective_seconds.h"
#include "partition/collectives.h"
#include "partition/sections.h"
#include "planning/node_work.h"
#include "sharding/move.h"

namespace partita {
namespace {

class LayerCosting {
 public:
  explicit LayerCosting(const CostRequest& request)
      : request_(request),
        local_(request.local),
        graph_(request.local.graph),
        rules_(graph_, request.ops),
        sections_(sections_of(local_)),
        phases_(phases_of(local_)),
        device_(request.cluster.rank_device()),
        state_(graph_.values.size(), -1),
        value_unit_(graph_.values.size(), -1) {
    costs_.units.resize(request.folded.units.size());
    for (size_t s = 0; s < graph_.states.size(); ++s) state_[graph_.states[s].entry] = static_cast<int>(s);
  }

  LayerCosts run() {
    find_units();
    for (size_t n = 0; n < graph_.nodes.size(); ++n) price(n);
    weigh_states();
    weigh_kept();
    weigh_boundaries();
    costs_.workspace = workspace();
    return std::move(costs_);
  }

 private:
  UnitCosts& unit(size_t n) { return costs_.units[static_cast<size_t>(node_unit_[n])]; }

  /// Forward nodes have the names that they have in the folded graph; gradients the origin; what moves a value belongs
  /// where that was made, or where it is used first.
  void find_units() {
    std::unordered_map<std::string, int> by_name;
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
      for (ValueId input : node.inputs) {
        if (node_unit_[n] < 0) node_unit_[n] = value_unit_[input];
      }
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

  double bytes_per_element(ValueId value) const {
    const DType dtype = graph_.type(value).dtype;
    return dtype == DType::f32 ? request_.precision.activation : static_cast<double>(size_of(dtype));
  }

  double elements_of(ValueId value) const {
    return local_elements(graph_.type(value), local_.shardings[value].dims, local_.mesh);
  }

  double bytes_of(ValueId value) const { return elements_of(value) * bytes_per_element(value); }

  void price(size_t n) {
    if (phases_[n] == Phase::update) return;  // priced with the states, of which each rank may update a part
    const Node& node = graph_.nodes[n];
    SectionCosts& section = phases_[n] == Phase::backward ? unit(n).backward : unit(n).forward;
    if (const std::optional<Collective> kind = collective_of(node)) {
      if (is_local(*kind) || !is_each_micro_batch(n)) return;
      const ValueId whole = *kind == Collective::all_gather ? node.outputs[0] : node.inputs[0];
      section.communication[*kind] += seconds_of(*kind, bytes_of(whole), place(n), request_.cluster);
      return;
    }
    Work work = work_of(graph_, rules_, n, local_.cuts[n], local_.shardings, local_.mesh);
    if (work.dtype == DType::f32) work.dtype = request_.precision.compute;
    work.bytes = 0;
    for (const auto* values : {&node.inputs, &node.outputs}) {
      for (ValueId value : *values) work.bytes += bytes_of(value);
    }
    const double seconds = seconds_of(work, device_);
    section.compute += seconds;
    section.flops += work.flops;
    if (phases_[n] == Phase::backward && leads_to_weights(n)) unit(n).backward_weights += seconds;
  }

  bool is_each_micro_batch(size_t n) const { return local_.mesh.micro_axis() < 0 || is_micro(sections_[n]); }

  /// Of a product of the backward: whether it makes the gradient of a parameter, which has no rows of the batch.
  bool leads_to_weights(size_t n) const {
    const int micro = local_.mesh.micro_axis();
    const Sharding& made = local_.shardings[graph_.nodes[n].outputs[0]];
    return micro >= 0 && std::find(made.partial.begin(), made.partial.end(), micro) != made.partial.end();
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
      if (state.kind == StateKind::parameter) costs_.units[own].parameters += elements_of(state.entry);
      if (last_unit[state.entry] > own) costs_.units[last_unit[state.entry]].tied += elements_of(state.entry);
    }
    for (const State& state : graph_.states) {
      const auto owner = units.find(state.owner);
      if (state.kind == StateKind::optimizer && owner != units.end())
        costs_.units[owner->second].optimizer += elements_of(state.entry);
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
        if (is_read[output]) unit(n).kept += bytes_of(output);
      }
    }
    for (const Input& input : graph_.inputs) {
      if (input.batch_dim >= 0) costs_.inputs += bytes_of(input.value);
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
        for (int u = node_unit_[n] + 1; u <= furthest[output]; ++u) costs_.units[u].boundary += bytes_of(output);
      }
    }
  }

  /// The most bytes that are alive at once in a micro-batch beside what the forward leaves to the backward; gradients
  /// of parameters are counted apart.
  double workspace() const {
    std::vector<size_t> last_use(graph_.values.size(), 0);
    std::vector<NodeId> order;
    for (const SectionNodes& section : in_sections(local_)) {
      if (section.section == Section::late || section.section == Section::update) continue;
      order.insert(order.end(), section.nodes.begin(), section.nodes.end());
    }
    std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return phases_[a] < phases_[b]; });
    std::vector<bool> is_kept(graph_.values.size(), false);
    double kept = 0, live = 0, most = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      for (ValueId input : graph_.nodes[order[i]].inputs) last_use[input] = i + 1;
    }
    for (size_t i = 0; i < order.size(); ++i) {
      const Node& node = graph_.nodes[order[i]];
      if (phases_[order[i]] == Phase::update) break;
      for (ValueId output : node.outputs) {
        if (!is_gradient_of_state(output) && last_use[output] > 0) live += bytes_of(output);
      }
      most = std::max(most, live);
      for (const auto* values : {&node.inputs, &node.outputs}) {
        for (ValueId value : *values) {
          const bool is_made = graph_.values[value].producer >= 0;
          if (is_made && last_use[value] == i + 1 && !is_gradient_of_state(value)) live -= bytes_of(value);
        }
      }
    }
    for (const UnitCosts& unit : costs_.units) kept += unit.kept;
    return std::max(0.0, most - kept);
  }

  bool is_gradient_of_state(ValueId value) const {
    const NodeId producer = graph_.values[value].producer;
    return producer >= 0 && phases_[producer] == Phase::backward && leads_to_weights(static_cast<size_t>(producer));
  }

  const CostRequest& request_;
  const LocalGraph& local_;
  const Graph& graph_;
  const Rules rules_;
  const std::vector<Section> sections_;
  const std::vector<Phase> phases_;
  const DeviceSpec device_;
  std::vector<int> state_;       // per value: the state that it is at entry, or -1
  std::vector<int> value_unit_;  // per value: the unit that makes it, or uses it first
  std::vector<int> node_unit_;
  std::map<Axes, GroupPlace> places_;
  LayerCosts costs_;
};

}  // namespace

Precision Precision::of(DType dtype) {
  const double bytes = static_cast<double>(size_of(dtype));
  if (bytes >= 4) return {.compute = dtype, .activation = bytes, .weight = bytes, .gradient = bytes};
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

LayerCosts layer_costs(const CostRequest& request) { return LayerCosting(request).run(); }

}  // namespace partita

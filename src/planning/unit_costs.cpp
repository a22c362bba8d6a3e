#include "planning/unit_costs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "cluster/collective_seconds.h"
#include "lowering/node_work.h"
#include "partition/collectives.h"
#include "partition/sections.h"
#include "sharding/move.h"

namespace partita {
namespace {

constexpr double kBucket = 1 << 26;  // bytes in which gradients are sent together

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
        software_(request.cluster.software),
        local_(request.local),
        graph_(request.local.graph),
        rules_(graph_, request.ops),
        sections_(sections_of(local_)),
        phases_(phases_of(local_)),
        micro_(local_.mesh.micro_axis()),
        state_(graph_.values.size(), -1),
        value_unit_(graph_.values.size(), -1),
        is_read_(graph_.values.size(), false),
        for_update_(graph_.values.size(), false),
        is_product_(graph_.values.size(), false),
        is_image_(graph_.values.size(), false) {
    lowered.lowered_rows_ = static_cast<double>(request.rows);
    const size_t units = request.folded.units.size();
    lowered.kept_.resize(units);
    lowered.boundaries_.resize(units);
    lowered.handed_.resize(units);
    lowered.results_.resize(units);
    lowered.states_.resize(units);
    for (const FoldedUnit& unit : request.folded.units) lowered.copies_.push_back(static_cast<double>(unit.count));
    for (size_t s = 0; s < graph_.states.size(); ++s) state_[graph_.states[s].entry] = static_cast<int>(s);
  }

  void run() {
    find_units();
    find_read();
    find_images();
    for (size_t n = 0; n < graph_.nodes.size(); ++n) lower(n);
    if (software_.recomputes_whole && request_.recompute == Recompute::full) recompute_layers();
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

  static void add(PerRow& sum, const PerRow& other, double times = 1) {
    sum.fixed += times * other.fixed;
    sum.row += times * other.row;
  }

  /// What backward nodes take, and what those of the update take alone.
  void find_read() {
    std::vector<bool> in_forward(graph_.values.size(), false);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      auto& readers = phases_[n] == Phase::backward ? is_read_ : phases_[n] == Phase::update ? for_update_ : in_forward;
      for (ValueId input : graph_.nodes[n].inputs) readers[input] = true;
    }
    for (size_t v = 0; v < is_read_.size(); ++v) for_update_[v] = for_update_[v] && !is_read_[v] && !in_forward[v];
  }

  bool is_again(size_t n) const { return phases_[n] == Phase::backward && !graph_.nodes[n].recompute.empty(); }

  /// A value that the software gathers again in the backward rather than keep it.
  bool is_regathered(ValueId value) const {
    const NodeId producer = graph_.values[value].producer;
    return software_.regathers && producer >= 0 && is_read_[value] && phases_[producer] == Phase::forward &&
           collective_of(graph_.nodes[producer]) == Collective::all_gather;
  }

  /// Whether a node adds two gradients that one product would have made at once.
  bool adds_products(size_t n) const {
    const Node& node = graph_.nodes[n];
    if (!software_.joins_products || phases_[n] != Phase::backward || node.op != "add") return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) { return is_product_[input]; });
  }

  /// Bytes that the software keeps for a value: with the scores of attention, and masks.
  PerRow held_bytes(ValueId value) const {
    PerRow held;
    add(held, bytes_of(value), is_image_[value] ? blocked_channels(graph_.type(value).shape[1]) : 1);
    const NodeId producer = graph_.values[value].producer;
    if (producer < 0) return held;
    const Node& node = graph_.nodes[producer];
    if (is_regathered(value)) {
      const ValueId part = node.inputs[0];
      return is_read_[part] ? PerRow{} : bytes_of(part);
    }
    const bool has_sums = node.outputs.size() == 2 && value == node.outputs[1] && !collective_of(node);
    if (has_sums && software_.scores.kept_bytes > 0) {
      const Work work = work_at(static_cast<size_t>(producer));
      const double scores = work.batch * work.rows * work.columns;
      if (work.kind == WorkKind::attention)
        (held.row > 0 ? held.row : held.fixed) += scores * software_.scores.kept_bytes;
    }
    const bool is_sum = node.op == "add" && phases_[producer] == Phase::forward && node.recompute.empty();
    if (is_sum && bytes_of(node.inputs[0]).row > 0 && bytes_of(node.inputs[1]).row > 0)
      held.row += elements_of(value) * software_.mask_bytes;
    return held;
  }

  /// How many times their memory channels take in blocks.
  double blocked_channels(int64_t channels) const {
    const int64_t block = software_.channel_block;
    return static_cast<double>((channels + block - 1) / block * block) / static_cast<double>(channels);
  }

  /// What convolutions make, and what is made of that.
  void find_images() {
    for (size_t n = 0; n < graph_.nodes.size() && software_.channel_block > 0; ++n) {
      const Node& node = graph_.nodes[n];
      const auto has_image = [&](ValueId input) { return is_image_[input]; };
      bool is_of_images = std::any_of(node.inputs.begin(), node.inputs.end(), has_image);
      if (phases_[n] != Phase::update && !collective_of(node)) is_of_images |= work_at(n).kind == WorkKind::convolution;
      for (ValueId output : node.outputs) is_image_[output] = is_of_images && graph_.type(output).shape.size() == 4;
    }
  }

  Work work_at(size_t n) const { return work_of(graph_, rules_, n, local_.cuts[n], local_.shardings, local_.mesh); }

  bool is_each_micro_batch(size_t n) const { return micro_ < 0 || is_micro(sections_[n]); }

  /// A sum that only the update reads.
  bool is_of_gradient(size_t n) const {
    return phases_[n] == Phase::backward && for_update_[graph_.nodes[n].outputs[0]];
  }

  void lower(size_t n) {
    if (phases_[n] == Phase::update) return;  // priced with the states, of which each rank may update a part
    const Node& node = graph_.nodes[n];
    const bool backward = phases_[n] == Phase::backward;
    if (const std::optional<Collective> kind = collective_of(node)) {
      const bool late = is_of_gradient(n);
      if (is_local(*kind) || !(late || is_each_micro_batch(n))) return;
      const ValueId whole = *kind == Collective::all_gather ? node.outputs[0] : node.inputs[0];
      PerRow bytes = bytes_of(whole);
      if (late) bytes.fixed *= request_.precision.gradient / request_.precision.activation;
      lowered_.messages_.push_back({unit(n), backward, late, *kind, bytes, place(n), is_again(n)});
      if (late || !is_regathered(node.outputs[0])) return;
      lowered_.messages_.push_back({unit(n), /*backward=*/true, /*late=*/false, *kind, bytes_of(whole), place(n)});
      if (bytes_of(whole).row > lowered_.gathered_.row) lowered_.gathered_ = bytes_of(whole);
      return;
    }
    const auto& fused = software_.fused;
    const bool is_joined = adds_products(n);
    if (is_joined) is_product_[node.outputs[0]] = true;
    if (is_joined || std::find(fused.begin(), fused.end(), node.op) != fused.end()) return;
    LoweredLayers::Kernel kernel{.unit = unit(n), .backward = backward, .again = is_again(n)};
    kernel.work = work_at(n);
    if (kernel.work.kind == WorkKind::product) is_product_[node.outputs[0]] = true;
    if (const auto factor = software_.op_factor.find(node.op); factor != software_.op_factor.end())
      kernel.factor = factor->second;
    if (kernel.work.dtype == DType::f32) kernel.work.dtype = request_.precision.compute;
    for (const auto* values : {&node.inputs, &node.outputs}) {
      for (ValueId value : *values) add(kernel.bytes, bytes_of(value));
    }
    kernel.weights = backward && leads_to_weights(n);
    for (size_t f = 0; f < local_.cuts[n].size(); ++f) {
      const Axes& axes = local_.cuts[n][f];
      if (std::find(axes.begin(), axes.end(), micro_) == axes.end()) continue;
      kernel.grows = true;
      if (has_product_sizes(kernel.work.kind, rules_[n]))
        kernel.scaled = size_of_factor(kernel.work.kind, rules_[n], static_cast<int>(f));
    }
    lowered_.kernels_.push_back(std::move(kernel));
  }

  /// Of layers of which something is recomputed all of the forward is.
  void recompute_layers() {
    std::vector<bool> is_recomputed(request_.folded.units.size(), false);
    const auto repeat = [&](auto& all) {
      for (const auto& item : all) {
        if (item.again) is_recomputed[item.unit] = true;
      }
      std::erase_if(all, [](const auto& item) { return item.again; });
      for (size_t i = 0, count = all.size(); i < count; ++i) {
        auto copy = all[i];
        if (copy.backward || !is_recomputed[copy.unit]) continue;
        copy.backward = copy.again = true;
        all.push_back(std::move(copy));
      }
    };
    repeat(lowered_.kernels_);
    repeat(lowered_.messages_);
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
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (phases_[n] != Phase::forward || !is_each_micro_batch(n)) continue;
      for (ValueId output : graph_.nodes[n].outputs) {
        if (is_read_[output]) add(lowered_.kept_[unit(n)], held_bytes(output));
      }
      const bool is_selected = request_.recompute == Recompute::selective && !graph_.nodes[n].recompute.empty();
      if (is_selected && software_.recomputes_whole)
        add(lowered_.results_[unit(n)], bytes_of(graph_.nodes[n].outputs[0]));
    }
    for (const Input& input : graph_.inputs) {
      if (input.batch_dim >= 0) add(lowered_.inputs_, bytes_of(input.value));
    }
  }

  /// What units get from those in front, in the forward, and what of it these do not read in their own backward.
  void weigh_boundaries() {
    constexpr int kNever = std::numeric_limits<int>::max();
    std::vector<int> furthest(graph_.values.size(), -1), first_reader(graph_.values.size(), kNever);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (ValueId input : graph_.nodes[n].inputs) {
        if (phases_[n] == Phase::forward) furthest[input] = std::max(furthest[input], node_unit_[n]);
        if (phases_[n] == Phase::backward) first_reader[input] = std::min(first_reader[input], node_unit_[n]);
      }
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (phases_[n] != Phase::forward || !is_each_micro_batch(n)) continue;
      for (ValueId output : graph_.nodes[n].outputs) {
        for (int u = node_unit_[n] + 1; u <= furthest[output]; ++u) {
          add(lowered_.boundaries_[u], bytes_of(output));
          if (is_read_[output] && first_reader[output] >= u) add(lowered_.handed_[u], bytes_of(output));
        }
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
      change.unit = unit(order[i]);
      change.backward = phases_[order[i]] == Phase::backward;
      for (ValueId output : node.outputs) {
        if (is_gradient_of_state(output)) change.gradients += elements_of(output);
        if (last_use[output] > 0 && !is_gradient_of_state(output)) add(change.made, held_bytes(output));
      }
      for (ValueId input : node.inputs) {
        if (graph_.values[input].producer < 0 || last_use[input] != i + 1 || is_gradient_of_state(input)) continue;
        add(change.freed, held_bytes(input));
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
  const SoftwareCosts& software_;
  const LocalGraph& local_;
  const Graph& graph_;
  const Rules rules_;
  const std::vector<Section> sections_;
  const std::vector<Phase> phases_;
  const int micro_;
  std::vector<int> state_;       // per value: the state that it is at entry, or -1
  std::vector<int> value_unit_;  // per value: the unit that makes it, or uses it first
  std::vector<int> node_unit_;
  std::vector<bool> is_read_;     // per value: by the backward
  std::vector<bool> for_update_;  // per value: whether the update alone reads it
  std::vector<bool> is_product_;  // per value: made by a product, or the sum of such
  std::vector<bool> is_image_;    // per value: its channels lie in blocks
  std::map<Axes, GroupPlace> places_;
};

LoweredLayers::LoweredLayers(const LoweringRequest& request) { LayerLowering(request, *this).run(); }

LoweredLayers::KernelCosts LoweredLayers::costs_of(const Kernel& kernel, const Work& work, const Cluster& cluster,
                                                   const DeviceSpec& device) const {
  KernelCosts costs{seconds_of(work, device)};
  const ScoreCosts& scores = cluster.software.scores;
  if (work.kind != WorkKind::attention || scores.kernels == 0) return costs;
  const bool is_gradient = kernel.backward && !kernel.again;
  const double count = work.batch * work.rows * work.columns;
  const bool is_split = scores.group > 0 && std::fmod(work.batch, static_cast<double>(scores.group)) != 0;
  costs.kernels = (scores.kernels + (is_split ? scores.split_kernels : 0)) * (is_gradient ? 2 : 1);
  const double bytes = count * (is_gradient ? scores.backward_bytes : scores.forward_bytes);
  costs.seconds +=
      seconds_of({.kind = WorkKind::pointwise, .dtype = work.dtype, .flops = count, .bytes = bytes}, device);
  costs.seconds += static_cast<double>(costs.kernels - 2) * device.launch_overhead;
  return costs;
}

LayerCosts LoweredLayers::costs(int64_t micro_batch, const Cluster& cluster) const {
  const double rows = static_cast<double>(micro_batch) / lowered_rows_;
  LayerCosts costs{.units = states_, .workspace = 0, .inputs = inputs_.at(rows)};
  const DeviceSpec device = cluster.rank_device();
  const SoftwareCosts& software = cluster.software;
  std::vector<std::array<double, 2>> issuing(costs.units.size());  // seconds of the host, of forward and backward
  for (const Kernel& kernel : kernels_) {
    UnitCosts& unit = costs.units[kernel.unit];
    SectionCosts& section = kernel.backward ? unit.backward : unit.forward;
    Work work = kernel.work;
    work.bytes = kernel.bytes.at(rows);
    if (kernel.grows) work.flops *= rows;
    if (kernel.scaled != nullptr) work.*kernel.scaled *= rows;
    section.flops += work.flops;
    work.bytes *= kernel.factor;
    work.flops *= kernel.factor;
    const KernelCosts own = costs_of(kernel, work, cluster, device);
    section.compute += own.seconds;
    issuing[kernel.unit][kernel.backward ? 1 : 0] += static_cast<double>(own.kernels) * software.host_overhead;
    if (kernel.weights) unit.backward_weights += own.seconds;
  }
  for (const Message& message : messages_) {
    UnitCosts& unit = costs.units[message.unit];
    SectionCosts& section = message.backward ? unit.backward : unit.forward;
    const double bytes = message.bytes.at(rows);
    if (message.late) {
      unit.late[message.kind] += bytes * seconds_of(message.kind, kBucket, message.place, cluster) / kBucket;
      continue;
    }
    const double skew = software.rank_skew * static_cast<double>(message.place.ranks - 1);
    section.communication[message.kind] += seconds_of(message.kind, bytes, message.place, cluster) + skew;
    issuing[message.unit][message.backward ? 1 : 0] += skew;
  }
  for (size_t u = 0; u < costs.units.size(); ++u) {
    costs.units[u].forward.overlap(software.product_overlap, issuing[u][0]);
    costs.units[u].backward.overlap(software.product_overlap, issuing[u][1]);
  }
  weigh_memory(rows, costs);
  return costs;
}

void LoweredLayers::weigh_memory(double rows, LayerCosts& costs) const {
  double kept = 0, live = 0, most = 0;
  for (size_t u = 0; u < costs.units.size(); ++u) {
    costs.units[u].kept = kept_[u].at(rows);
    costs.units[u].boundary = boundaries_[u].at(rows);
    costs.units[u].handed = handed_[u].at(rows);
    kept += costs.units[u].kept;
    costs.units[u].kept += results_[u].at(rows);
  }
  for (const Change& change : changes_) {
    live += change.made.at(rows);
    most = std::max(most, live);
    live -= change.freed.at(rows);
  }
  costs.workspace = std::max(0.0, most - kept) + gathered_.at(rows);
  double all = 0;
  for (size_t u = 0; u < costs.units.size(); ++u) all += copies_[u] * costs.units[u].kept;
  costs.moments = moments(rows, all);
}

/// Of units that stand for several copies the first and the last are followed: between them all goes evenly.
std::vector<BackwardMoment> LoweredLayers::moments(double rows, double kept) const {
  std::vector<BackwardMoment> own(copies_.size());                  // of a unit: what a copy leaves behind
  std::vector<std::vector<BackwardMoment>> within(copies_.size());  // and its moments, none of which others exceed
  for (const Change& change : changes_) {
    if (!change.backward) continue;
    BackwardMoment& now = own[change.unit];
    now.bytes += change.made.at(rows);
    now.gradients += change.gradients;
    std::vector<BackwardMoment>& known = within[change.unit];
    std::erase_if(known, [&](const BackwardMoment& before) { return before.bytes <= now.bytes; });
    known.push_back(now);
    now.bytes -= change.freed.at(rows);
  }
  std::vector<BackwardMoment> all;
  BackwardMoment before{kept + gathered_.at(rows), 0};
  for (size_t u = copies_.size(); u-- > 0;) {
    for (const double copies : {0.0, copies_[u] - 1}) {
      for (const BackwardMoment& moment : within[u]) {
        all.push_back({before.bytes + copies * own[u].bytes + moment.bytes,
                       before.gradients + copies * own[u].gradients + moment.gradients});
      }
    }
    before.bytes += copies_[u] * own[u].bytes;
    before.gradients += copies_[u] * own[u].gradients;
  }
  return all;
}

Precision Precision::of(DType dtype) {
  const double bytes = static_cast<double>(size_of(dtype));
  if (bytes >= 4) return {.compute = dtype, .activation = bytes, .weight = bytes, .gradient = bytes, .state = bytes};
  return {.compute = dtype, .activation = bytes, .weight = bytes, .gradient = 4, .master = 4};
}

double SectionCosts::seconds() const {
  double sum = compute + waiting;
  for (const auto& [kind, seconds] : communication) sum += seconds;
  return sum;
}

void SectionCosts::overlap(double share, double issuing) {
  double all = 0;
  for (const auto& [kind, seconds] : communication) all += seconds;
  const double hidden = std::min(share * all, compute);
  for (auto& [kind, seconds] : communication) seconds *= all > 0 ? 1 - hidden / all : 1;
  waiting = std::max(0.0, issuing - compute - (all - hidden));
}

void SectionCosts::add(const SectionCosts& other, double times) {
  flops += times * other.flops;
  compute += times * other.compute;
  waiting += times * other.waiting;
  for (const auto& [kind, seconds] : other.communication) communication[kind] += times * seconds;
}

void UnitCosts::add(const UnitCosts& other, double times) {
  forward.add(other.forward, times);
  backward.add(other.backward, times);
  for (const auto& [kind, seconds] : other.late) late[kind] += times * seconds;
  backward_weights += times * other.backward_weights;
  parameters += times * other.parameters;
  tied += times * other.tied;
  optimizer += times * other.optimizer;
  kept += times * other.kept;
}

}  // namespace partita

#include "planner/pricing/layers/unit_costs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <unordered_map>

#include "compiler/partition/collectives.h"
#include "compiler/partition/sections.h"
#include "compiler/plan/optimizer_sharding.h"
#include "compiler/schedule/schedule.h"
#include "ir/sharding/move.h"
#include "ir/work/node_work.h"
#include "planner/cluster/collective_seconds.h"

namespace partita {

/// Finds the kernels, messages and states of the layers.
class LayerLowering {
 public:
  LayerLowering(const LayerValues& values, LoweredLayers& lowered)
      : values_(values),
        request_(values.request()),
        lowered_(lowered),
        software_(values.software()),
        local_(values.local()),
        graph_(values.graph()),
        is_product_(graph_.values.size(), false) {
    lowered.states_.resize(request_.folded.units.size());
  }

  void run() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) lower(n);
    if (software_.recomputes_whole && request_.recompute == Recompute::full) recompute_layers();
    count_states();
  }

 private:
  /// Whether a backward node only adds gradients that products made, which the software makes by one product; false if
  /// the software does not join products.
  bool adds_products(size_t n) const {
    const Node& node = graph_.nodes[n];
    if (!software_.joins_products || values_.phase(n) != Phase::backward) return false;
    if (!values_.rules().op(n).traits.is_sum) return false;
    return std::ranges::all_of(node.inputs, [&](ValueId input) { return is_product_[input]; });
  }

  void lower(size_t n) {
    if (values_.phase(n) == Phase::update) return;  // priced by StageSeconds::update, since each rank may update a part
    const Node& node = graph_.nodes[n];
    const bool backward = values_.phase(n) == Phase::backward;
    if (const std::optional<Collective> kind = collective_of(node)) {
      const bool late = values_.is_of_gradient(n);
      if (is_local(*kind) || !(late || values_.is_each_micro_batch(n))) return;
      const ValueId whole = *kind == Collective::all_gather ? node.outputs[0] : node.inputs[0];
      PerRow bytes = values_.bytes_of(whole);
      if (late) bytes.fixed *= request_.precision.sent_gradient / request_.precision.activation;
      const DType summed = summed_dtype(late ? request_.precision.sent_gradient : request_.precision.activation);
      lowered_.messages_.push_back(
          {values_.unit(n), backward, late, *kind, bytes, axes(n), values_.is_recomputed(n), summed});
      if (late || !values_.is_regathered(node.outputs[0])) return;
      lowered_.messages_.push_back(
          {values_.unit(n), /*backward=*/true, /*late=*/false, *kind, values_.bytes_of(whole), axes(n)});
      return;
    }
    const auto& fused = software_.fused;
    const bool is_joined = adds_products(n);
    if (is_joined) is_product_[node.outputs[0]] = true;
    if (is_joined || std::ranges::find(fused, node.op) != fused.end()) return;
    LoweredLayers::Kernel kernel{.unit = values_.unit(n),
                                 .backward = backward,
                                 .work = values_.work_at(n),
                                 .recomputed = values_.is_recomputed(n)};
    if (kernel.work.kind == WorkKind::product) is_product_[node.outputs[0]] = true;
    if (const auto factor = software_.op_factor.find(node.op); factor != software_.op_factor.end())
      kernel.factor = factor->second;
    if (kernel.work.dtype == DType::f32) kernel.work.dtype = request_.precision.compute;
    kernel.work.repeated = request_.folded.units[kernel.unit].is_copy;
    const double moved = folds_casts(kernel.work.kind) ? request_.precision.folded : request_.precision.moved;
    for (const auto* values : {&node.inputs, &node.outputs}) {
      for (ValueId value : *values) {
        const bool is_float32 = graph_.type(value).dtype == DType::f32;
        const double times = is_float32 ? moved / request_.precision.activation : 1;
        kernel.bytes.add(values_.bytes_of(value), times);
      }
    }
    kernel.weights = backward && values_.leads_to_weights(n);
    for (size_t f = 0; f < local_.cuts[n].size(); ++f) {
      const Growth growth = values_.growth(local_.cuts[n][f]);
      if (growth == Growth::none) continue;
      kernel.growth = growth;
      if (has_product_sizes(kernel.work.kind, values_.rules()[n]))
        kernel.scaled = size_of_factor(kernel.work.kind, values_.rules()[n], static_cast<int>(f));
    }
    lowered_.kernels_.push_back(std::move(kernel));
  }

  /// Recomputes the whole forward pass of every layer of which something is recomputed.
  void recompute_layers() {
    std::vector<bool> is_recomputed(request_.folded.units.size(), false);
    const auto repeat = [&](auto& all) {
      for (const auto& item : all) {
        if (item.recomputed) is_recomputed[item.unit] = true;
      }
      std::erase_if(all, [](const auto& item) { return item.recomputed; });
      for (size_t i = 0, count = all.size(); i < count; ++i) {
        auto copy = all[i];
        if (copy.backward || !is_recomputed[copy.unit]) continue;
        copy.backward = copy.recomputed = true;
        all.push_back(std::move(copy));
      }
    };
    repeat(lowered_.kernels_);
    repeat(lowered_.messages_);
  }

  size_t axes(size_t n) {
    const Axes axes = axes_of(graph_.nodes[n], local_.mesh);
    const auto [entry, fresh] = axes_.try_emplace(axes, lowered_.axes_.size());
    if (fresh) {
      std::vector<std::string>& names = lowered_.axes_.emplace_back();
      for (int axis : axes) names.push_back(local_.mesh.axes()[static_cast<size_t>(axis)].name);
    }
    return entry->second;
  }

  void count_states() {
    std::unordered_map<std::string_view, int> units;
    std::set<std::string_view> small;  // names of parameters
    std::vector<int> last_unit(graph_.values.size(), -1);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (graph_.nodes[n].phase != Phase::forward) continue;
      for (ValueId input : graph_.nodes[n].inputs) {
        last_unit[input] = std::max(last_unit[input], static_cast<int>(values_.unit(n)));
      }
    }
    for (const State& state : graph_.states) {
      if (state.kind == StateKind::optimizer) continue;
      const auto own = static_cast<int>(values_.unit_of_value(state.entry));
      units[graph_.values[state.entry].name] = own;
      if (state.kind != StateKind::parameter) continue;
      lowered_.states_[own].parameters += values_.elements_of(state.entry);
      if (!software_.keeps_gradients && graph_.type(state.entry).bytes() < OptimizerSharding{}.threshold) {
        small.insert(graph_.values[state.entry].name);
        lowered_.states_[own].small_parameters += values_.elements_of(state.entry);
      }
      lowered_.states_[own].largest = std::max(lowered_.states_[own].largest, values_.elements_of(state.entry));
      if (last_unit[state.entry] <= own) continue;
      lowered_.states_[last_unit[state.entry]].tied += values_.elements_of(state.entry);
      lowered_.states_[own].lent += values_.elements_of(state.entry);
    }
    for (const State& state : graph_.states) {
      const auto owner = units.find(state.owner);
      if (state.kind != StateKind::optimizer || owner == units.end()) continue;
      UnitCosts& unit = lowered_.states_[owner->second];
      unit.optimizer += values_.elements_of(state.entry);
      if (small.contains(state.owner)) unit.small_optimizer += values_.elements_of(state.entry);
    }
  }

  const LayerValues& values_;
  const LoweringRequest& request_;
  LoweredLayers& lowered_;
  const SoftwareCosts& software_;
  const LocalGraph& local_;
  const Graph& graph_;
  std::vector<bool> is_product_;  // per value: whether it is made by products, or a sum of such values
  std::map<Axes, size_t> axes_;
};

LoweredLayers::LoweredLayers(const LoweringRequest& request) : LoweredLayers(LayerValues(request)) {}

LoweredLayers::LoweredLayers(const LayerValues& values) : memory_(values), rows_(values.rows()) {
  LayerLowering(values, *this).run();
}

LoweredLayers::KernelCosts LoweredLayers::costs_of(const Kernel& kernel, const Work& work, const Cluster& cluster,
                                                   const DeviceSpec& device) const {
  KernelCosts costs{seconds_of(work, device)};
  const ScoreCosts& scores = cluster.software.scores;
  if (work.kind != WorkKind::attention || scores.kernels == 0) return costs;
  const bool is_gradient = kernel.backward && !kernel.recomputed;
  const double count = work.batch * work.rows * work.columns;
  const bool is_split = scores.group > 0 && std::fmod(work.batch, static_cast<double>(scores.group)) != 0;
  costs.kernels = (scores.kernels + (is_split ? scores.split_kernels : 0)) * (is_gradient ? 2 : 1);
  const double bytes = count * (is_gradient ? scores.backward_bytes : scores.forward_bytes);
  costs.seconds +=
      seconds_of({.kind = WorkKind::pointwise, .dtype = work.dtype, .flops = count, .bytes = bytes}, device);
  costs.seconds += static_cast<double>(costs.kernels - 2) * device.launch_overhead;
  return costs;
}

LayerCosts LoweredLayers::costs(int64_t micro_batch, const Cluster& cluster, const Mesh& ranks) const {
  const RelativeRows rows = rows_.of(micro_batch);
  LayerCosts costs{.units = states_,
                   .backward = memory_.backward(rows),
                   .gathered = memory_.gathered(rows),
                   .workspace = memory_.workspace(rows),
                   .inputs = memory_.inputs(rows)};
  const DeviceSpec device = cluster.rank_device();
  const SoftwareCosts& software = cluster.software;
  std::vector<std::array<double, 2>> issuing(costs.units.size());  // seconds of the host: forward, backward
  for (const Kernel& kernel : kernels_) {
    UnitCosts& unit = costs.units[kernel.unit];
    SectionCosts& section = kernel.backward ? unit.backward : unit.forward;
    Work work = kernel.work;
    work.bytes = kernel.bytes.at(rows);
    const double growth = PerRow::of(kernel.growth, 1).at(rows);
    work.flops *= growth;
    if (kernel.scaled != nullptr) work.*kernel.scaled *= growth;
    section.flops += work.flops;
    work.bytes *= kernel.factor;
    work.flops *= kernel.factor;
    const KernelCosts own = costs_of(kernel, work, cluster, device);
    section.compute += own.seconds;
    issuing[kernel.unit][kernel.backward ? 1 : 0] += static_cast<double>(own.kernels) * software.host_overhead;
    if (kernel.weights) unit.backward_weights += own.seconds;
  }
  std::vector<GroupPlace> places;
  for (const std::vector<std::string>& names : axes_) {
    Axes axes;
    for (const std::string& name : names) axes.push_back(ranks.axis(name));
    places.push_back(place_of(ranks, axes, 0, cluster));
  }
  for (const Message& message : messages_) {
    const GroupPlace& place = places[message.axes];
    UnitCosts& unit = costs.units[message.unit];
    SectionCosts& section = message.backward ? unit.backward : unit.forward;
    const double bytes = message.bytes.at(rows);
    if (message.late) {
      constexpr double kBytes = kBucketBytes;
      unit.late[message.kind] += bytes * seconds_of(message.kind, kBytes, place, cluster, message.dtype) / kBytes;
      continue;
    }
    const double skew = software.rank_skew * static_cast<double>(place.ranks - 1);
    section.communication[message.kind] += seconds_of(message.kind, bytes, place, cluster, message.dtype) + skew;
    issuing[message.unit][message.backward ? 1 : 0] += skew;
  }
  for (size_t u = 0; u < costs.units.size(); ++u) {
    UnitCosts& unit = costs.units[u];
    unit.forward.overlap(software.product_overlap, issuing[u][0]);
    unit.backward.overlap(software.product_overlap, issuing[u][1]);
    unit.kept = memory_.kept(u, rows);
    unit.boundary = memory_.boundary(u, rows);
    unit.handed = memory_.handed(u, rows);
  }
  return costs;
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
  communication.add(other.communication, times);
}

void UnitCosts::add(const UnitCosts& other, double times) {
  forward.add(other.forward, times);
  backward.add(other.backward, times);
  late.add(other.late, times);
  backward_weights += times * other.backward_weights;
  parameters += times * other.parameters;
  largest = std::max(largest, other.largest);
  tied += times * other.tied;
  lent += times * other.lent;
  optimizer += times * other.optimizer;
  small_parameters += times * other.small_parameters;
  small_optimizer += times * other.small_optimizer;
  kept += times * other.kept;
}

}  // namespace partita

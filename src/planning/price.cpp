#include "planning/price.h"

#include <algorithm>

#include "cluster/collective_seconds.h"
#include "pipeline/simulate.h"
#include "planning/deal_layers.h"

namespace partita {
namespace {

class StepPricing {
 public:
  explicit StepPricing(const PriceRequest& request)
      : request_(request),
        configuration_(request.configuration),
        micro_batches_(micro_batches(configuration_, request.batch)),
        group_ranks_(configuration_.data * configuration_.context * configuration_.tensor) {
    for (size_t u = 0; u < request.folded.units.size(); ++u) {
      const size_t count = request.folded.units[u].count;
      const UnitCosts& unit = request.costs.units[u];
      const bool repeated = request.folded.units.size() > 1 && is_repeated(u);
      layers_.insert(layers_.end(), count, {u, unit.forward.seconds() + unit.backward.seconds(), repeated});
    }
  }

  Price run() {
    deal();
    run_pipeline();
    add_memory();
    add_update();
    const double devices = static_cast<double>(configuration_.ranks());
    price_.tflops_per_device = request_.step_flops / price_.step_seconds / devices / 1e12;
    return std::move(price_);
  }

 private:
  /// A copy of a run has neighbours that it is like.
  bool is_repeated(size_t u) const {
    const auto& units = request_.folded.units;
    const auto middle = [&](size_t m) { return m < units.size() && units[m].count > 1; };
    return middle(u) || middle(u + 1) || (u > 0 && middle(u - 1));
  }

  int64_t stages() const { return configuration_.pipeline * configuration_.interleave; }

  void deal() {
    const std::vector<size_t> begins = deal_layers(layers_, stages());
    for (int64_t s = 0; s < stages(); ++s) {
      UnitCosts& stage = stages_.emplace_back();
      auto& counts = price_.layers.emplace_back(request_.folded.units.size(), 0);
      for (size_t i = begins[s]; i < begins[s + 1]; ++i) {
        stage.add(request_.costs.units[layers_[i].unit]);
        ++counts[layers_[i].unit];
      }
      stage.boundary = request_.costs.units[layers_[begins[s]].unit].boundary;
    }
  }

  int group_of(int64_t stage) const { return static_cast<int>(stage % configuration_.pipeline); }

  /// Seconds in which a stage gets what a micro-batch has at its boundary: each element is sent once, and gathered
  /// where several ranks need it.
  double transfer_seconds(int64_t stage) const {
    if (stage == 0 || configuration_.pipeline == 1) return 0;
    const int64_t from = group_of(stage - 1) * group_ranks_, to = group_of(stage) * group_ranks_;
    const double shares = configuration_.sequence_parallel ? 1 : static_cast<double>(configuration_.tensor);
    const double bytes = stages_[stage].boundary;
    double seconds = seconds_of(Collective::send, bytes / shares,
                                place_between(from, to, group_ranks_, request_.cluster), request_.cluster);
    if (shares > 1) seconds += seconds_of(Collective::all_gather, bytes, place({"tensor"}, 0), request_.cluster);
    return seconds;
  }

  /// The ranks of a group.
  Mesh group_mesh() const {
    return Mesh(
        {{"data", configuration_.data}, {"context", configuration_.context}, {"tensor", configuration_.tensor}});
  }

  GroupPlace place(const std::vector<std::string>& names, int64_t first_rank) const {
    const Mesh mesh = group_mesh();
    Axes axes;
    for (const std::string& name : names) {
      for (int axis : mesh.find(name)) axes.push_back(axis);
    }
    return place_of(mesh, axes, first_rank, request_.cluster);
  }

  void run_pipeline() {
    PipelineShape shape{.micro_batches = micro_batches_};
    for (int64_t s = 0; s < stages(); ++s) {
      const UnitCosts& stage = stages_[s];
      shape.groups.push_back(group_of(s));
      const double transfer = transfer_seconds(s), back = s + 1 < stages() ? transfer_seconds(s + 1) : 0;
      shape.times.push_back({stage.forward.seconds() + transfer,
                             stage.backward.seconds() - stage.backward_weights + back, stage.backward_weights});
      transfers_.push_back(transfer + back);
    }
    if (stages() == 1) {
      loop_seconds_ = static_cast<double>(micro_batches_) *
                      (shape.times[0].forward + shape.times[0].backward + shape.times[0].weight);
    } else {
      const auto dependencies = chain_of(static_cast<int>(stages()));
      const Sequence sequence = make_sequence(configuration_.order, shape, dependencies);
      loop_seconds_ = simulate(sequence, shape, dependencies).seconds;
      count_in_flight(sequence);
    }
    break_down(shape);
  }

  /// Of each stage the micro-batches whose forward has run and whose backward has not.
  void count_in_flight(const Sequence& sequence) {
    std::vector<double> bytes(configuration_.pipeline, 0);
    in_flight_bytes_.assign(configuration_.pipeline, 0);
    for (const Slot& slot : sequence) {
      const int group = group_of(slot.stage);
      const double kept = stages_[slot.stage].kept + stages_[slot.stage].boundary;
      if (slot.section == StageSection::forward) bytes[group] += kept;
      in_flight_bytes_[group] = std::max(in_flight_bytes_[group], bytes[group]);
      if (slot.section == last_section()) bytes[group] -= kept;
    }
  }

  StageSection last_section() const {
    return configuration_.order == Order::zero_bubble ? StageSection::weight : StageSection::backward;
  }

  /// Of the group that works longest, which the others wait for.
  void break_down(const PipelineShape& shape) {
    std::vector<double> busy(configuration_.pipeline, 0);
    for (int64_t s = 0; s < stages(); ++s) {
      const StageTimes& times = shape.times[s];
      busy[group_of(s)] += static_cast<double>(micro_batches_) * (times.forward + times.backward + times.weight);
    }
    busiest_ = static_cast<int>(std::max_element(busy.begin(), busy.end()) - busy.begin());
    Breakdown& parts = price_.breakdown;
    const auto rounds = static_cast<double>(micro_batches_);
    for (int64_t s = busiest_; s < stages(); s += configuration_.pipeline) {
      SectionCosts both = stages_[s].forward;
      both.add(stages_[s].backward);
      parts.compute += rounds * both.compute;
      for (const auto& [kind, seconds] : both.communication) parts.communication[kind] += rounds * seconds;
      if (transfers_[s] > 0) parts.communication[Collective::send] += rounds * transfers_[s];
    }
    parts.bubble = loop_seconds_ - busy[busiest_];
    price_.step_seconds = loop_seconds_;
  }

  UnitCosts group_costs(int64_t group) const {
    UnitCosts sum;
    for (int64_t s = group; s < stages(); s += configuration_.pipeline) sum.add(stages_[s]);
    return sum;
  }

  double sharing_ranks() const { return static_cast<double>(configuration_.data * configuration_.context); }

  void add_memory() {
    for (int64_t group = 0; group < configuration_.pipeline; ++group) {
      const UnitCosts costs = group_costs(group);
      const Precision& precision = request_.precision;
      const auto shared = [&](int64_t level) { return configuration_.zero >= level ? sharing_ranks() : 1; };
      const bool is_tied = costs.tied > 0 && configuration_.pipeline > 1;
      const double parameters = costs.parameters + (is_tied ? costs.tied : 0);
      StageMemory memory{.parameters = parameters * precision.weight / shared(3),
                         .gradients = parameters * precision.gradient / shared(2),
                         .optimizer = (costs.optimizer * 4 + costs.parameters * precision.master) / shared(1)};
      memory.activations = stages() == 1 ? costs.kept : in_flight_bytes_[group];
      memory.workspace = request_.costs.workspace;
      if (group == 0) memory.activations += request_.costs.inputs * static_cast<double>(micro_batches_);
      price_.memory.push_back(memory);
    }
  }

  /// Reductions of gradients run beside the backward of the last micro-batch; what is left, the update and the
  /// gathering of what was updated in parts come behind it.
  void add_update() {
    double longest = 0;
    std::map<Collective, double> exposed;
    for (int64_t group = 0; group < configuration_.pipeline; ++group) {
      const UnitCosts costs = group_costs(group);
      std::map<Collective, double> own = gradient_seconds(costs, group);
      double hidden = costs.backward.compute;
      const double update = update_seconds(costs);
      double sum = update;
      for (auto& [kind, seconds] : own) {
        const bool is_behind = kind == Collective::all_gather && configuration_.zero < 3;
        const double covered = is_behind ? 0 : std::min(hidden, seconds * kOverlapped);
        hidden -= covered;
        seconds -= covered;
        sum += seconds;
      }
      if (sum <= longest) continue;
      longest = sum;
      exposed = own;
      price_.breakdown.update = update;
    }
    for (const auto& [kind, seconds] : exposed) price_.breakdown.communication[kind] += seconds;
    price_.breakdown.update += request_.cluster.software.step_overhead;
    price_.step_seconds += longest + request_.cluster.software.step_overhead;
  }

  std::map<Collective, double> gradient_seconds(const UnitCosts& costs, int64_t group) const {
    std::map<Collective, double> result;
    if (sharing_ranks() == 1) return result;
    const GroupPlace where = place({"data", "context"}, group * group_ranks_);
    const double gradients = costs.parameters * request_.precision.gradient;
    const double weights = costs.parameters * request_.precision.weight;
    const auto seconds = [&](Collective kind, double bytes) {
      return seconds_of(kind, bytes, where, request_.cluster);
    };
    const auto rounds = static_cast<double>(micro_batches_);
    if (configuration_.zero == 0) result[Collective::all_reduce] = seconds(Collective::all_reduce, gradients);
    if (configuration_.zero == 1) result[Collective::reduce_scatter] = seconds(Collective::reduce_scatter, gradients);
    if (configuration_.zero >= 2)
      result[Collective::reduce_scatter] = rounds * seconds(Collective::reduce_scatter, gradients);
    if (configuration_.zero == 1 || configuration_.zero == 2)
      result[Collective::all_gather] = seconds(Collective::all_gather, weights);
    if (configuration_.zero == 3)
      result[Collective::all_gather] = 2 * rounds * seconds(Collective::all_gather, weights);
    return result;
  }

  double update_seconds(const UnitCosts& costs) const {
    const Precision& precision = request_.precision;
    const double parts = configuration_.zero >= 1 ? sharing_ranks() : 1;
    const double moved = costs.parameters * (2 * precision.weight + precision.gradient + 2 * precision.master) +
                         costs.optimizer * 8;  // read and written
    return seconds_of({.kind = WorkKind::pointwise, .flops = costs.parameters / parts, .bytes = moved / parts},
                      request_.cluster.rank_device());
  }

  static constexpr double kOverlapped = 0.9;  // of reductions: those of the first layers come behind the backward

  const PriceRequest& request_;
  const Configuration& configuration_;
  const int64_t micro_batches_, group_ranks_;
  std::vector<Layer> layers_;
  std::vector<UnitCosts> stages_;
  std::vector<double> transfers_;  // per stage: seconds of a micro-batch
  std::vector<double> in_flight_bytes_;
  double loop_seconds_ = 0;  // of all micro-batches
  int busiest_ = 0;
  Price price_;
};

}  // namespace

double Price::peak_memory() const {
  double most = 0;
  for (const StageMemory& stage : memory) most = std::max(most, stage.total());
  return most;
}

Price price_of(const PriceRequest& request) { return StepPricing(request).run(); }

}  // namespace partita

#include "planning/price.h"

#include <algorithm>

#include "cluster/collective_seconds.h"
#include "pipeline/simulate.h"
#include "planning/deal_layers.h"

namespace partita {
namespace {

constexpr double kOverlapped = 0.9;     // of reductions: those of the first layers come behind the backward
constexpr int64_t kFollowedRounds = 4;  // of as many micro-batches as groups: from then on an order repeats itself

/// Micro-batches of which the others are repetitions.
int64_t followed(int64_t micro_batches, int64_t groups) {
  const int64_t most = kFollowedRounds * groups;
  return micro_batches <= most ? micro_batches : most + micro_batches % groups;
}

}  // namespace

StagePrices::StagePrices(PriceRequest request)
    : request_(std::move(request)),
      configuration_(request_.configuration),
      micro_batches_(micro_batches(configuration_, request_.batch)),
      ranks_{configuration_.data, configuration_.context, configuration_.tensor} {
  deal();
  for (int64_t s = 0; s < stages(); ++s) {
    const UnitCosts& stage = stages_[s];
    const double transfer = transfer_seconds(s), back = s + 1 < stages() ? transfer_seconds(s + 1) : 0;
    shape_.groups.push_back(group_of(s));
    shape_.times.push_back({stage.forward.seconds() + transfer,
                            stage.backward.seconds() - stage.backward_weights + back, stage.backward_weights});
    transfers_.push_back(transfer + back);
  }
}

int64_t StagePrices::stages() const { return configuration_.pipeline * configuration_.interleave; }

int StagePrices::group_of(int64_t stage) const { return static_cast<int>(stage % configuration_.pipeline); }

void StagePrices::deal() {
  std::vector<DealtLayer> layers;
  const std::vector<FoldedUnit>& units = request_.folded.units;
  for (size_t u = 0; u < units.size(); ++u) {
    const UnitCosts& unit = request_.costs.units[u];
    layers.insert(layers.end(), units[u].count,
                  {u, unit.forward.seconds() + unit.backward.seconds(), units[u].is_copy});
  }
  const std::vector<size_t> begins = deal_layers(layers, stages());
  for (int64_t s = 0; s < stages(); ++s) {
    UnitCosts& stage = stages_.emplace_back();
    std::vector<size_t>& counts = layers_.emplace_back(units.size(), 0);
    for (size_t i = begins[s]; i < begins[s + 1]; ++i) ++counts[layers[i].unit];
    for (size_t u = 0; u < units.size(); ++u) {
      if (counts[u] > 0) stage.add(request_.costs.units[u], static_cast<double>(counts[u]));
    }
    const UnitCosts& first = request_.costs.units[layers[begins[s]].unit];
    stage.boundary = first.boundary;
    if (s > 0) stages_[s - 1].kept -= first.handed;
  }
}

/// Seconds in which a stage gets what a micro-batch has at its boundary: each element is sent once, and gathered where
/// several ranks need it.
double StagePrices::transfer_seconds(int64_t stage) {
  if (stage == 0 || configuration_.pipeline == 1) return 0;
  const int from = group_of(stage - 1), to = group_of(stage);
  const double bytes = stages_[stage].boundary;
  const auto [entry, fresh] = known_transfers_.try_emplace({from, to, bytes}, 0);
  if (!fresh) return entry->second;
  const bool in_parts = configuration_.sequence_parallel || configuration_.cuts == TensorCuts::searched;
  const double shares = in_parts ? 1 : static_cast<double>(configuration_.tensor);
  const GroupPlace& between = request_.places.between(from * ranks_.count(), to * ranks_.count(), ranks_.count());
  double& seconds = entry->second;
  seconds = seconds_of(Collective::send, bytes / shares, between, request_.cluster) +
            request_.cluster.software.transfer_overhead;
  if (shares > 1)
    seconds += seconds_of(Collective::all_gather, bytes, request_.places.tensor(ranks_, 0), request_.cluster);
  return seconds;
}

double StagePrices::busy_seconds(int64_t group) const {
  double seconds = 0;
  for (int64_t s = group; s < stages(); s += configuration_.pipeline) {
    seconds += shape_.times[s].forward + shape_.times[s].backward + shape_.times[s].weight;
  }
  return seconds * static_cast<double>(micro_batches_);
}

double StagePrices::lower_bound(int64_t zero) const {
  double longest = 0, before = 0, behind = 0;
  for (int64_t group = 0; group < configuration_.pipeline; ++group) {
    longest = std::max(longest, before + busy_seconds(group) + behind);
    before += shape_.times[group].forward;
    behind += shape_.times[group].backward;
  }
  return longest + update(zero).seconds;
}

const StagePrices::Loop& StagePrices::loop() {
  if (loop_) return *loop_;
  double busiest = 0;
  for (int64_t group = 0; group < configuration_.pipeline; ++group) busiest = std::max(busiest, busy_seconds(group));
  if (stages() == 1) return loop_.emplace(Loop{busiest, {stages_[0].kept}});
  shape_.micro_batches = followed(micro_batches_, configuration_.pipeline);
  const auto dependencies = chain_of(static_cast<int>(stages()));
  const Sequence sequence = make_sequence(configuration_.order, shape_, dependencies);
  const double left_out =
      static_cast<double>(micro_batches_ - shape_.micro_batches) / static_cast<double>(micro_batches_);
  return loop_.emplace(
      Loop{simulate(sequence, shape_, dependencies).seconds + left_out * busiest, bytes_in_flight(sequence)});
}

/// Of the micro-batches whose forward has run and whose last section has not, by group.
std::vector<double> StagePrices::bytes_in_flight(const Sequence& sequence) const {
  const StageSection last = configuration_.order == Order::zero_bubble ? StageSection::weight : StageSection::backward;
  std::vector<double> bytes(configuration_.pipeline, 0), most(configuration_.pipeline, 0);
  for (const Slot& slot : sequence) {
    const int group = group_of(slot.stage);
    const double kept = stages_[slot.stage].kept + stages_[slot.stage].boundary;
    if (slot.section == StageSection::forward) bytes[group] += kept;
    most[group] = std::max(most[group], bytes[group]);
    if (slot.section == last) bytes[group] -= kept;
  }
  return most;
}

/// Of the group that works longest, which the others wait for.
Breakdown StagePrices::breakdown(int64_t busiest, double loop_seconds) const {
  Breakdown parts;
  const auto rounds = static_cast<double>(micro_batches_);
  for (int64_t s = busiest; s < stages(); s += configuration_.pipeline) {
    SectionCosts both = stages_[s].forward;
    both.add(stages_[s].backward);
    parts.compute += rounds * both.compute;
    parts.waiting += rounds * both.waiting;
    for (const auto& [kind, seconds] : both.communication) parts.communication[kind] += rounds * seconds;
    if (transfers_[s] > 0) parts.communication[Collective::send] += rounds * transfers_[s];
  }
  parts.bubble = loop_seconds - busy_seconds(busiest);
  return parts;
}

UnitCosts StagePrices::group_costs(int64_t group) const {
  UnitCosts sum;
  for (int64_t s = group; s < stages(); s += configuration_.pipeline) sum.add(stages_[s]);
  return sum;
}

StageMemory StagePrices::memory(int64_t group, int64_t zero, double in_flight) const {
  const UnitCosts costs = group_costs(group);
  const Precision& precision = request_.precision;
  const auto ranks = static_cast<double>(configuration_.data * configuration_.context);
  const auto shared = [&](int64_t level) { return zero >= level ? ranks : 1; };
  const double parameters = costs.parameters + (configuration_.pipeline > 1 ? costs.tied : 0);
  StageMemory memory{.parameters = parameters * precision.weight / shared(3),
                     .gradients = parameters * precision.gradient / shared(2),
                     .optimizer = (costs.optimizer * precision.state + costs.parameters * precision.master) / shared(1),
                     .activations = in_flight,
                     .workspace = request_.costs.workspace};
  if (group == 0) memory.activations += request_.costs.inputs * static_cast<double>(micro_batches_);
  if (group + 1 < configuration_.pipeline) memory.workspace += stages_[group + 1].boundary;  // its gradient
  if (request_.cluster.software.keeps_gradients) return memory;
  if (configuration_.pipeline > 1)
    memory.gradients += costs.lent * precision.gradient / shared(2);  // from other stages
  if (micro_batches_ == 1) {  // gradients come as activations go, and are scattered at once
    memory.gradients = parameters * precision.gradient / shared(1);
    if (stages() == 1) {
      double most = 0;
      for (const BackwardMoment& moment : request_.costs.moments)
        most = std::max(most, moment.bytes + moment.gradients * precision.gradient / shared(1));
      memory.gradients = std::max(0.0, most - in_flight - memory.workspace);
    }
  }
  return memory;
}

double StagePrices::least_memory(int64_t zero) const {
  double most = 0;
  for (int64_t group = 0; group < configuration_.pipeline; ++group) {
    most = std::max(most, memory(group, zero, stages_[group].kept + stages_[group].boundary).total());
  }
  return most;
}

/// Reductions of gradients run beside the backward of the last micro-batch, gathers of what was updated in parts beside
/// the first forward, where the software does that; what is left of them and the update come behind. Of the group that
/// takes longest.
StagePrices::Update StagePrices::update(int64_t zero) const {
  Update longest;
  for (int64_t group = 0; group < configuration_.pipeline; ++group) {
    const UnitCosts costs = group_costs(group);
    Update own{.kernels = update_kernels(costs, zero), .exposed = gradient_seconds(costs, group, zero)};
    const SoftwareCosts& software = request_.cluster.software;
    double beside_backward = software.reduces_behind ? 0 : costs.backward.compute;
    double beside_forward = software.gathers_ahead ? costs.forward.compute : 0;
    own.seconds = own.kernels;
    for (auto& [kind, seconds] : own.exposed) {
      double& hiding = kind == Collective::all_gather && zero < 3 ? beside_forward : beside_backward;
      const double covered = std::min(hiding, seconds * kOverlapped);
      hiding -= covered;
      seconds -= covered;
      own.seconds += seconds;
    }
    if (group == 0 || own.seconds > longest.seconds) longest = std::move(own);
  }
  longest.kernels += request_.cluster.software.step_overhead;
  longest.seconds += request_.cluster.software.step_overhead;
  return longest;
}

std::map<Collective, double> StagePrices::gradient_seconds(const UnitCosts& costs, int64_t group, int64_t zero) const {
  std::map<Collective, double> result = costs.late;
  if (configuration_.data * configuration_.context == 1) return result;
  const GroupPlace& where = request_.places.batch(ranks_, group * ranks_.count());
  const double gradients = costs.parameters * request_.precision.gradient;
  const double weights = costs.parameters * request_.precision.weight;
  const auto seconds = [&](Collective kind, double bytes) { return seconds_of(kind, bytes, where, request_.cluster); };
  const auto rounds = static_cast<double>(micro_batches_);
  if (zero == 0) result[Collective::all_reduce] += seconds(Collective::all_reduce, gradients);
  if (zero == 1) result[Collective::reduce_scatter] += seconds(Collective::reduce_scatter, gradients);
  if (zero >= 2) result[Collective::reduce_scatter] += rounds * seconds(Collective::reduce_scatter, gradients);
  if (zero == 1 || zero == 2) result[Collective::all_gather] += seconds(Collective::all_gather, weights);
  if (zero == 3) result[Collective::all_gather] += 2 * rounds * seconds(Collective::all_gather, weights);
  return result;
}

double StagePrices::update_kernels(const UnitCosts& costs, int64_t zero) const {
  const Precision& precision = request_.precision;
  const double parts = zero >= 1 ? static_cast<double>(configuration_.data * configuration_.context) : 1;
  const double moved = costs.parameters * (2 * precision.weight + precision.gradient + 2 * precision.master) +
                       costs.optimizer * 2 * precision.state;  // read and written
  return seconds_of({.kind = WorkKind::pointwise, .flops = costs.parameters / parts, .bytes = moved / parts},
                    request_.cluster.rank_device());
}

Price StagePrices::price(int64_t zero) {
  const Loop& of_loop = loop();
  int64_t busiest = 0;
  for (int64_t group = 1; group < configuration_.pipeline; ++group) {
    if (busy_seconds(group) > busy_seconds(busiest)) busiest = group;
  }
  Price price{.breakdown = breakdown(busiest, of_loop.seconds), .memory = {}, .layers = layers_};
  for (int64_t group = 0; group < configuration_.pipeline; ++group) {
    price.memory.push_back(memory(group, zero, of_loop.in_flight[group]));
  }
  const Update of_update = update(zero);
  price.breakdown.update = of_update.kernels;
  for (const auto& [kind, seconds] : of_update.exposed) price.breakdown.communication[kind] += seconds;
  price.step_seconds = of_loop.seconds + of_update.seconds;
  price.tflops_per_device =
      request_.step_flops / price.step_seconds / static_cast<double>(configuration_.ranks()) / 1e12;
  return price;
}

double Price::peak_memory() const {
  double most = 0;
  for (const StageMemory& stage : memory) most = std::max(most, stage.total());
  return most;
}

}  // namespace partita

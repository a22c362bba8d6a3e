#include "planning/price.h"

#include <algorithm>
#include <numeric>

#include "cluster/collective_seconds.h"
#include "planning/deal_layers.h"
#include "schedule/schedule.h"

namespace partita {
namespace {

constexpr int64_t kFollowedRounds = 4;  // of as many micro-batches as groups: from then on an order repeats itself

/// Micro-batches of which the others are repetitions.
int64_t followed(int64_t micro_batches, int64_t groups) {
  const int64_t most = kFollowedRounds * groups;
  return micro_batches <= most ? micro_batches : most + micro_batches % groups;
}

size_t first_unit(const StageLayers& layers) {
  size_t first = 0;
  while (first + 1 < layers.size() && layers[first].count() == 0) ++first;
  return first;
}

Recompute first_policy(const UnitCopies& copies) {
  return *std::find_if(kPoliciesInOrder.begin(), kPoliciesInOrder.end() - 1,
                       [&](Recompute policy) { return copies.of(policy) > 0; });
}

}  // namespace

StagePrices::StagePrices(PriceRequest request)
    : request_(std::move(request)),
      configuration_(request_.configuration),
      micro_batches_(micro_batches(configuration_, request_.batch)),
      ranks_{configuration_.data, configuration_.context, configuration_.tensor} {
  deal();
  choose_recomputed_layers();
  weigh();
  for (int64_t s = 0; s < stages(); ++s) {
    const UnitCosts& stage = stages_[s];
    seconds_.push_back(stage.forward.seconds() + stage.backward.seconds());
    const double transfer = transfer_seconds(s), back = s + 1 < stages() ? transfer_seconds(s + 1) : 0;
    shape_.groups.push_back(group_of(s));
    shape_.times.push_back({stage.forward.seconds() + transfer,
                            stage.backward.seconds() - stage.backward_weights + back, stage.backward_weights});
    transfers_.push_back(transfer + back);
  }
  shape_.micro_batches = followed(micro_batches_, configuration_.pipeline);
  for (int64_t group = 0; ranks_.data * ranks_.context > 1 && group < configuration_.pipeline; ++group) {
    batch_places_.push_back(&request_.places.batch(ranks_, group * ranks_.count()));
  }
}

std::vector<StageLayers> StagePrices::layers() const {
  std::vector<StageLayers> layers;
  for (int64_t s = 0; s < stages(); ++s) layers.push_back(layers_of_stage(s));
  return layers;
}

int64_t StagePrices::stages() const { return configuration_.pipeline * configuration_.interleave; }

int StagePrices::group_of(int64_t stage) const { return static_cast<int>(stage % configuration_.pipeline); }

const LayerCosts& StagePrices::costs(Recompute policy) const {
  const LayerCosts*& known = costs_[static_cast<size_t>(policy)];
  if (known == nullptr) known = &request_.costs(policy);
  return *known;
}

void StagePrices::deal() {
  const Recompute policy = configuration_.recompute.all;
  std::vector<DealtLayer> layers;
  const std::vector<FoldedUnit>& units = request_.folded.units;
  for (size_t u = 0; u < units.size(); ++u) {
    const UnitCosts& unit = costs(policy).units[u];
    layers.insert(layers.end(), units[u].count,
                  {u, unit.forward.seconds() + unit.backward.seconds(), units[u].is_copy});
  }
  const std::vector<size_t> begins = deal_layers(layers, stages(), configuration_.deal);
  layers_.resize(static_cast<size_t>(configuration_.pipeline));
  for (int64_t s = 0; s < stages(); ++s) {
    StageLayers& stage = layers_[static_cast<size_t>(group_of(s))].emplace_back(units.size());
    for (size_t i = begins[s]; i < begins[s + 1]; ++i) ++stage[layers[i].unit].of(policy);
  }
}

void StagePrices::choose_recomputed_layers() {
  if (!configuration_.recompute.is_counted()) return;
  const std::vector<bool> recomputable = recomputable_units(request_.folded);
  for (int64_t group = 0; group < configuration_.pipeline; ++group) {
    RecomputedLayers::Counts left = configuration_.recompute.counts[static_cast<size_t>(group)];
    int64_t layers = 0;
    for (StageLayers& stage : layers_[static_cast<size_t>(group)]) {
      layers += recomputable_layers(stage, recomputable);
      choose_policies(stage, recomputable, left);
    }
    if (left.full + left.selective == 0) continue;
    throw InvalidArgument(
        fmt::format("[--fixed recompute] more layers than there are, got {} of group {} of stages, expected at most {}",
                    layers + left.full + left.selective, group, layers));
  }
}

UnitCosts StagePrices::costs_of(const StageLayers& layers) const {
  UnitCosts sum;
  for (size_t u = 0; u < layers.size(); ++u) {
    for (const Recompute policy : kPoliciesInOrder) {
      const auto copies = static_cast<double>(layers[u].of(policy));
      if (copies > 0) sum.add(costs(policy).units[u], copies);
    }
  }
  return sum;
}

/// Sums of layers, and what stands between stages.
void StagePrices::weigh() {
  groups_.resize(static_cast<size_t>(configuration_.pipeline));
  handed_.assign(static_cast<size_t>(stages()), 0);
  for (int64_t s = 0; s < stages(); ++s) {
    const StageLayers& layers = layers_of_stage(s);
    UnitCosts& stage = stages_.emplace_back(costs_of(layers));
    const size_t first = first_unit(layers);
    const UnitCosts& unit = costs(first_policy(layers[first])).units[first];
    stage.boundary = unit.boundary;
    if (s > 0) handed_[s - 1] = unit.handed;
  }
  for (int64_t s = 0; s < stages(); ++s) {
    stages_[s].kept -= handed_[s];
    groups_[static_cast<size_t>(group_of(s))].add(stages_[s]);
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
  seconds =
      request_.places.seconds(Collective::send, bytes / shares, between) + request_.cluster.software.transfer_overhead;
  if (shares > 1) seconds += request_.places.seconds(Collective::all_gather, bytes, request_.places.tensor(ranks_, 0));
  return seconds;
}

double StagePrices::slowest_stage() const { return *std::max_element(seconds_.begin(), seconds_.end()); }

double StagePrices::average_stage() const {
  return std::accumulate(seconds_.begin(), seconds_.end(), 0.0) / static_cast<double>(stages());
}

double StagePrices::computed_seconds(int64_t group) const {
  double seconds = 0;
  for (int64_t s = group; s < stages(); s += configuration_.pipeline) seconds += seconds_[s];
  return seconds * static_cast<double>(micro_batches_);
}

double StagePrices::transfer_seconds_of(int64_t group) const {
  double seconds = 0;
  for (int64_t s = group; s < stages(); s += configuration_.pipeline) seconds += transfers_[s];
  return seconds * static_cast<double>(micro_batches_);
}

/// Of all micro-batches, were each as those in the middle of a step.
double StagePrices::repeated_seconds(int64_t group) const {
  const double computed = computed_seconds(group), transfers = transfer_seconds_of(group);
  return request_.cluster.software.waits_for_transfers ? computed + transfers : std::max(computed, transfers);
}

StagePrices::Messages StagePrices::messages(int64_t group, int64_t zero) const {
  Messages sent;
  const SoftwareCosts& software = request_.cluster.software;
  const auto rounds = static_cast<double>(micro_batches_);
  for (int64_t s = group; s < stages(); s += configuration_.pipeline) {
    const auto add_last = [&](double seconds) {
      if (software.reduces_behind) return void(sent.behind += seconds);
      sent.beside += seconds;
      if (s == group) sent.last += seconds;
    };
    const StageLayers& layers = layers_of_stage(s);
    for (size_t u = 0; u < layers.size(); ++u) {
      const auto count = static_cast<double>(layers[u].count());
      if (count == 0) continue;
      const UnitCosts& unit = costs(configuration_.recompute.all).units[u];  // what is recomputed has no gradients
      SecondsByKind sent_seconds = unit.late;
      sent_seconds.add(gradient_seconds(u, group, zero));
      for (const auto& [kind, seconds] : sent_seconds) {
        if (kind != Collective::all_gather) {
          const double late = unit.late.contains(kind) ? unit.late.at(kind) : 0, each = seconds - late;
          add_last(count * (late + (zero >= 2 ? each / rounds : each)));
          if (zero >= 2) sent.beside += count * each * (rounds - 1) / rounds;
        } else if (zero == 3) {
          sent.beside += count * seconds;
          sent.first += count * seconds / (2 * rounds);
        } else {
          (software.gathers_ahead ? sent.ahead : sent.behind) += count * seconds;
        }
      }
    }
  }
  return sent;
}

/// Of m seconds of messages and c of computation, which may overlap, neither is done before m, nor before
/// c + m (1 - 1 / slowdown). What comes of the last section is sent no sooner than that begins; parameters of the first
/// forward may be gathered before it.
StagePrices::Ends StagePrices::soonest(int64_t group, int64_t zero, double before) const {
  const Messages sent = messages(group, zero);
  const double first = stages_[group].forward.seconds(), last = stages_[group].backward.seconds();
  // Transfers take time of their own in the micro-batches that repeat others, and in all of them where they are waited
  // for.
  const double followed = static_cast<double>(shape_.micro_batches) / static_cast<double>(micro_batches_);
  const double repeated = request_.cluster.software.waits_for_transfers ? 1 : 1 - followed;
  Ends ends{.update = update_kernels(group_costs(group), zero) + sent.behind};
  ends.computed = std::max(before, sent.ahead - first) + computed_seconds(group) * (1 - repeated) +
                  repeated_seconds(group) * repeated;
  const double slowed = (sent.beside - sent.first) * (1 - 1 / request_.cluster.software.overlap_slowdown);
  ends.updated = std::max({ends.computed + slowed, ends.computed - last + sent.last, sent.beside}) + ends.update;
  return ends;
}

double StagePrices::lower_bound(int64_t zero) {
  std::optional<double>& known = lower_bounds_[static_cast<size_t>(zero)];
  if (!known) known = find_lower_bound(zero);
  return *known;
}

double StagePrices::find_lower_bound(int64_t zero) const {
  double longest = 0, before = 0, behind = 0;
  for (int64_t group = 0; group < configuration_.pipeline; ++group) {
    const Ends ends = soonest(group, zero, before);
    if (group == 0) behind = ends.update;
    // Gradients of weights may come behind the last backward.
    double weights = 0;
    for (int64_t s = group; s < stages(); s += configuration_.pipeline) weights += shape_.times[s].weight;
    weights *= static_cast<double>(micro_batches_);
    const double handed = ends.computed - (configuration_.order == Order::zero_bubble ? weights : 0);
    longest = std::max({longest, ends.updated, handed + behind});
    before += shape_.times[group].forward;
    behind += shape_.times[group].backward;
  }
  double through = 0;  // of a micro-batch: the stages one after the other, forward and back
  for (const StageTimes& stage : shape_.times) through += stage.forward + stage.backward;
  return std::max(longest, through) + request_.cluster.overhead_of_step(configuration_.ranks());
}

const Sequence& StagePrices::sequence() {
  if (sequence_ == nullptr) sequence_ = &request_.orders.of(configuration_.order, shape_);
  return *sequence_;
}

const std::vector<KeptMicroBatches>& StagePrices::in_flight() {
  return request_.kept_micro_batches.of(sequence(), configuration_.order, configuration_.pipeline);
}

double StagePrices::kept_by(const StageLayers& layers) const {
  double bytes = 0;
  for (size_t u = 0; u < layers.size(); ++u) {
    for (const Recompute policy : kPoliciesInOrder) {
      const size_t copies = layers[u].of(policy);
      if (copies > 0) bytes += static_cast<double>(copies) * costs(policy).units[u].kept;
    }
  }
  return bytes;
}

/// When the stages of a group, of which a micro-batch keeps so many bytes, take most; how many are in flight on each.
const std::vector<int64_t>& StagePrices::fullest_moment(int64_t group, const std::vector<double>& kept) {
  const auto bytes_of = [&](const std::vector<int64_t>& moment) {
    double bytes = 0;
    for (size_t i = 0; i < kept.size(); ++i) bytes += static_cast<double>(moment[i]) * kept[i];
    return bytes;
  };
  const KeptMicroBatches& moments = in_flight()[static_cast<size_t>(group)];
  return *std::max_element(moments.begin(), moments.end(),
                           [&](const auto& a, const auto& b) { return bytes_of(a) < bytes_of(b); });
}

/// Bytes of a group with such layers.
double StagePrices::most_in_flight(int64_t group, const std::vector<StageLayers>& layers) {
  std::vector<double> kept;
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto s = static_cast<size_t>(group + static_cast<int64_t>(i) * configuration_.pipeline);
    kept.push_back(kept_by(layers[i]) - handed_[s] + (stages() > 1 ? stages_[s].boundary : 0));
  }
  const std::vector<int64_t>& moment = fullest_moment(group, kept);
  double bytes = 0;
  for (size_t i = 0; i < kept.size(); ++i) bytes += static_cast<double>(moment[i]) * kept[i];
  return bytes;
}

/// Of all layers on one rank, when activations go and gradients of parameters come: the layers are followed from the
/// last to the first, of copies that are alike the first and the last: between them all goes evenly.
double StagePrices::most_in_backward(const StageLayers& layers,
                                     const std::function<double(double)>& bytes_of_gradients) const {
  BackwardMoment before{.bytes = kept_by(layers)};
  double most = 0, gathered = 0;
  for (size_t u = layers.size(); u-- > 0;) {
    for (size_t p = kPoliciesInOrder.size(); p-- > 0;) {
      const size_t copies = layers[u].of(kPoliciesInOrder[p]);
      if (copies == 0) continue;
      const LayerCosts& of_policy = costs(kPoliciesInOrder[p]);
      const UnitBackward& unit = of_policy.backward[u];
      gathered = std::max(gathered, of_policy.gathered);
      for (const double done : {0.0, static_cast<double>(copies - 1)}) {
        const double bytes = before.bytes + done * unit.left.bytes;
        const double gradients = before.gradients + done * unit.left.gradients;
        for (const BackwardMoment& moment : unit.within)
          most = std::max(most, bytes + moment.bytes + bytes_of_gradients(gradients + moment.gradients));
      }
      before.bytes += static_cast<double>(copies) * unit.left.bytes;
      before.gradients += static_cast<double>(copies) * unit.left.gradients;
    }
  }
  return most + gathered;
}

StageMemory StagePrices::memory(int64_t group, int64_t zero, double in_flight) const {
  return memory(group, zero, in_flight, layers_of(group));
}

StageMemory StagePrices::memory(int64_t group, int64_t zero, double in_flight,
                                const std::vector<StageLayers>& layers) const {
  const UnitCosts& own = group_costs(group);
  const Precision& precision = request_.precision;
  const auto ranks = static_cast<double>(configuration_.data * configuration_.context);
  const auto shared = [&](int64_t level) { return zero >= level ? ranks : 1; };
  const double parameters = own.parameters + (configuration_.pipeline > 1 ? own.tied : 0);
  StageMemory memory{.parameters = parameters * precision.weight / shared(3),
                     .gradients = parameters * precision.gradient / shared(2),
                     .optimizer = (own.optimizer * precision.state + own.parameters * precision.master) / shared(1),
                     .activations = in_flight,
                     .workspace = workspace(layers)};
  if (group == 0)
    memory.activations += costs(configuration_.recompute.all).inputs * static_cast<double>(micro_batches_);
  if (group + 1 < configuration_.pipeline) memory.workspace += stages_[group + 1].boundary;  // its gradient
  memory.workspace += whole_layers(layers, zero);
  if (request_.cluster.software.keeps_gradients) return memory;
  const double lent = configuration_.pipeline > 1 ? own.lent : 0;  // from other stages
  memory.gradients = gradient_bytes(parameters + lent, zero, memory, layers[0]);
  return memory;
}

/// Level 3 gathers the parameters of a layer, and meanwhile those of the next; from level 2 on gradients of a layer are
/// whole until they are scattered.
double StagePrices::whole_layers(const std::vector<StageLayers>& layers, int64_t zero) const {
  const auto ranks = static_cast<double>(configuration_.data * configuration_.context);
  double largest = 0, all = 0;
  for (const StageLayers& stage : layers) {
    for (size_t u = 0; u < stage.size(); ++u) {
      if (stage[u].count() == 0) continue;
      const double elements = costs(configuration_.recompute.all).units[u].parameters;
      largest = std::max(largest, elements);
      all += elements * static_cast<double>(stage[u].count());
    }
  }
  const double others = 1 - 1 / ranks;  // of which a rank has its own part already
  double bytes = 0;
  if (zero >= 3) bytes += std::min(2 * largest, all) * request_.precision.weight * others;
  if (zero >= 2 && micro_batches_ > 1) bytes += largest * request_.precision.gradient * others;
  return bytes;
}

/// Behind the first backward of a group, which all of its stages have run the forward of. In each order of a stage
/// each, that then has as many micro-batches as there are stages behind it, and its own, or more; of whole rounds of
/// interleaved stages the group has begun those that 1f1b of its last stage would let come first, chunk by chunk
/// (pipeline/orders.h).
double StagePrices::least_in_flight(int64_t group) const {
  const int64_t groups = configuration_.pipeline, chunks = configuration_.interleave, all = shape_.micro_batches;
  const bool is_interleaved = configuration_.order == Order::interleaved;
  double bytes = 0;
  if (is_interleaved && chunks > 1 && all % groups == 0) {
    const int64_t begun = std::min(chunks * all, (chunks - 1) * groups + 2 * (groups - 1 - group) + 1);
    for (int64_t slot = 0; slot < begun; ++slot) bytes += kept(group + slot / groups % chunks * groups);
    return bytes;
  }
  for (int64_t s = group; s < stages(); s += groups) {
    bytes += kept(s) * static_cast<double>(chunks == 1 ? std::min(all, stages() - s) : 1);
  }
  return bytes;
}

/// Gradients of several micro-batches are added up, and from level 1 on scattered when all are done: the parts of them
/// and of the parameters that a rank updates lie where activations were. Of a single micro-batch they come as
/// activations go, in whole buckets where they are reduced, and stay until what is scattered of them has arrived.
double StagePrices::gradient_bytes(double elements, int64_t zero, const StageMemory& beside,
                                   const StageLayers& layers) const {
  const Precision& precision = request_.precision;
  const auto ranks = static_cast<double>(configuration_.data * configuration_.context);
  const double whole = elements * precision.gradient, others = beside.activations + beside.workspace;
  if (micro_batches_ > 1) {
    const double parts = (zero == 1 ? whole : 0) + (zero == 1 || zero == 2 ? elements * precision.weight : 0);
    return whole / (zero >= 2 ? ranks : 1) + std::max(0.0, parts / ranks - others);
  }
  const double scattered = zero >= 1 ? 1 / ranks : 0;
  if (stages() > 1) return whole * (1 + scattered);
  const auto bucket = static_cast<double>(ranks > 1 && zero == 0 ? ScheduleOptions{}.bucket_bytes : 0);
  const double most = most_in_backward(layers, [&](double made_elements) {
    const double made = made_elements * precision.gradient;
    return std::min(whole, made + bucket) + made * scattered;
  });
  return std::max(0.0, costs(configuration_.recompute.all).inputs + most - others);
}

/// Beside what is kept, the most that a layer of a group takes. Without a pipeline, when the backward comes to the
/// layers of a policy, those behind them have left what they kept; stages keep that for the micro-batches that follow.
double StagePrices::workspace(const std::vector<StageLayers>& layers) const {
  double most = 0;
  for (const StageLayers& stage : layers) {
    double behind = 0;
    std::array<bool, kPoliciesInOrder.size()> is_known{};
    for (size_t u = stage.size(); u-- > 0;) {
      for (size_t p = kPoliciesInOrder.size(); p-- > 0;) {
        const size_t copies = stage[u].of(kPoliciesInOrder[p]);
        if (copies == 0) continue;
        const LayerCosts& of_policy = costs(kPoliciesInOrder[p]);
        if (!std::exchange(is_known[p], true)) most = std::max(most, of_policy.workspace - behind);
        if (stages() == 1) behind += static_cast<double>(copies) * of_policy.units[u].kept;
      }
    }
  }
  return most;
}

double StagePrices::least_memory(int64_t zero) {
  std::optional<double>& known = least_memory_[static_cast<size_t>(zero)];
  if (!known) known = find_least_memory(zero);
  return *known;
}

double StagePrices::find_least_memory(int64_t zero) const {
  double most = 0;
  for (int64_t group = 0; group < configuration_.pipeline; ++group) {
    most = std::max(most, memory(group, zero, least_in_flight(group)).total());
  }
  return most;
}

std::vector<StageMemory> StagePrices::memory(int64_t zero) {
  std::vector<StageMemory> all;
  for (int64_t group = 0; group < configuration_.pipeline; ++group) {
    const std::vector<StageLayers>& layers = layers_of(group);
    all.push_back(memory(group, zero, most_in_flight(group, layers), layers));
  }
  return all;
}

/// Of the layers of a stage of which the network has one alone. What a layer keeps for those behind it alone is theirs.
UnitCosts StagePrices::single_costs(int64_t stage) const {
  const std::vector<UnitCosts>& units = costs(configuration_.recompute.all).units;
  UnitCosts sum;
  for (size_t u = 0; u < units.size(); ++u) {
    if (layers_of_stage(stage)[u].count() == 0 || request_.folded.units[u].is_copy) continue;
    sum.add(units[u]);
    sum.kept += units[u].handed - (u + 1 < units.size() ? units[u + 1].handed : 0);
  }
  return sum;
}

std::vector<StageMemory> StagePrices::single_layers(int64_t zero) {
  const Precision& precision = request_.precision;
  const auto ranks = static_cast<double>(configuration_.data * configuration_.context);
  const auto shared = [&](int64_t level) { return zero >= level ? ranks : 1; };
  std::vector<StageMemory> all(configuration_.pipeline);
  for (int64_t s = 0; s < stages(); ++s) {
    std::vector<double> kept_by_stage;
    for (int64_t i = group_of(s); i < stages(); i += configuration_.pipeline) kept_by_stage.push_back(kept(i));
    const auto in_flight = static_cast<double>(
        fullest_moment(group_of(s), kept_by_stage)[static_cast<size_t>(s / configuration_.pipeline)]);
    const UnitCosts single = single_costs(s);
    const double parameters = single.parameters + (configuration_.pipeline > 1 ? single.tied : 0);
    all[group_of(s)].add(
        {.parameters = parameters * precision.weight / shared(3),
         .gradients = parameters * precision.gradient / shared(2),
         .optimizer = (single.optimizer * precision.state + single.parameters * precision.master) / shared(1),
         .activations = in_flight * single.kept});
  }
  return all;
}

const SecondsByKind& StagePrices::gradient_seconds(size_t unit, int64_t group, int64_t zero) const {
  static const SecondsByKind kNone;
  if (configuration_.data * configuration_.context == 1) return kNone;
  const GroupPlace& where = *batch_places_[static_cast<size_t>(group)];
  const auto [known, fresh] = gradient_seconds_.try_emplace({&where, unit, zero});
  if (!fresh) return known->second;
  SecondsByKind& result = known->second;
  const double parameters = costs(configuration_.recompute.all).units[unit].parameters;
  const double gradients = parameters * request_.precision.gradient, weights = parameters * request_.precision.weight;
  const auto seconds = [&](Collective kind, double bytes) { return request_.places.seconds(kind, bytes, where); };
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
                    request_.device);
}

void StageMemory::add(const StageMemory& other) {
  parameters += other.parameters;
  gradients += other.gradients;
  optimizer += other.optimizer;
  activations += other.activations;
  workspace += other.workspace;
}

double peak_of(const std::vector<StageMemory>& memory) {
  double most = 0;
  for (const StageMemory& stage : memory) most = std::max(most, stage.total());
  return most;
}

}  // namespace partita

#include "planner/pricing/step/step_memory.h"

#include <algorithm>
#include <utility>

#include "compiler/schedule/schedule.h"

namespace partita {

namespace {

/// Bytes of the micro-batches of a moment, if each stage of the group keeps `kept` bytes of one.
double bytes_of(const std::vector<int64_t>& moment, const std::vector<double>& kept) {
  double bytes = 0;
  for (size_t i = 0; i < kept.size(); ++i) bytes += static_cast<double>(moment[i]) * kept[i];
  return bytes;
}

}  // namespace

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

double StepMemory::least(int64_t zero) {
  std::optional<double>& cached = min_[static_cast<size_t>(zero)];
  if (!cached) cached = find_least(zero);
  return *cached;
}

double StepMemory::find_least(int64_t zero) const {
  double most = 0;
  for (int64_t group = 0; group < configuration().pipeline; ++group) {
    most = std::max(most, of_group(group, zero, min_in_flight(group)).total());
  }
  return most;
}

std::vector<StageMemory> StepMemory::of_groups(int64_t zero) const {
  std::vector<StageMemory> all;
  for (int64_t group = 0; group < configuration().pipeline; ++group) {
    all.push_back(of_group(group, zero, stages_.layers_of(group)));
  }
  return all;
}

StageMemory StepMemory::of_group(int64_t group, int64_t zero, double in_flight) const {
  return of_group(group, zero, in_flight, stages_.layers_of(group));
}

StageMemory StepMemory::of_group(int64_t group, int64_t zero, const std::vector<StageLayers>& layers) const {
  return of_group(group, zero, max_in_flight(group, layers), layers);
}

StageMemory StepMemory::of_group(int64_t group, int64_t zero, double in_flight,
                                 const std::vector<StageLayers>& layers) const {
  if (stages_.sharing_ranks() == 1) zero = 0;
  const UnitCosts& own = stages_.group(group);
  StageMemory memory = states_of(own, zero);
  memory.activations = in_flight;
  memory.workspace = workspace(layers);
  if (group == 0) memory.activations += stages_.costs().inputs * static_cast<double>(stages_.micro_batches());
  if (group + 1 < configuration().pipeline)
    memory.workspace += stages_.stage(group + 1).boundary;  // the gradient of a boundary
  const double gathered = whole_layers(layers, zero);
  // With a single micro-batch, parameters are gathered while gradients are made; with several, before the update.
  if (!stages_.request().cluster.software.keeps_gradients) {
    StageMemory other = memory;
    if (stages_.micro_batches() > 1) other.workspace += gathered;
    memory.gradients = gradient_bytes(own, zero, other, layers[0]);
  }
  memory.workspace += gathered;
  return memory;
}

/// Returns the bytes of parameters, of gradients if all are there at once, and of states of the optimizer.
StageMemory StepMemory::states_of(const UnitCosts& own, int64_t zero) const {
  const Precision& precision = stages_.request().precision;
  const auto ranks = static_cast<double>(stages_.sharing_ranks()), tied = configuration().pipeline > 1 ? own.tied : 0;
  const auto ways = [&](int64_t level) { return zero >= level ? ranks : 1; };
  return {.parameters = (own.parameters_of_rank(ways(3)) + tied / ways(3)) * precision.parameter(),
          .gradients = (own.parameters_of_rank(ways(2)) + tied / ways(2)) * precision.gradient,
          .optimizer = own.optimizer_of_rank(ways(1)) * precision.state +
                       own.parameters_of_rank(ways(1)) * precision.shared_master()};
}

std::vector<StageMemory> StepMemory::single_layers(int64_t zero) const {
  std::vector<StageMemory> all(configuration().pipeline);
  for (int64_t s = 0; s < stages_.stages(); ++s) {
    std::vector<double> kept_by_stage;
    for (int64_t i = stages_.group_of(s); i < stages_.stages(); i += configuration().pipeline)
      kept_by_stage.push_back(stages_.kept(i));
    const auto in_flight = static_cast<double>(
        fullest_moment(stages_.group_of(s), kept_by_stage)[static_cast<size_t>(s / configuration().pipeline)]);
    const UnitCosts single = stages_.single_costs(s);
    StageMemory memory = states_of(single, zero);
    memory.activations = in_flight * single.kept;
    all[stages_.group_of(s)].add(memory);
  }
  return all;
}

const std::vector<KeptMicroBatches>& StepMemory::kept_micro_batches() const {
  return stages_.request().kept_micro_batches.of(seconds_.sequence(), configuration().order, configuration().pipeline);
}

/// Returns a lower bound of the peak bytes of activations in flight on a group: those held right after its first
/// backward pass, when all of its stages have run their forward pass. If each group has one stage, it then holds at
/// least as many micro-batches as there are stages from it to the last one. With whole rounds of interleaved stages,
/// the group has begun the forward passes that 1f1b of its last stage runs first, chunk by chunk (ir/orders/orders.h).
double StepMemory::min_in_flight(int64_t group) const {
  const int64_t groups = configuration().pipeline, chunks = configuration().interleave,
                all = seconds_.shape().micro_batches;
  const bool is_interleaved = configuration().order == Order::interleaved;
  double bytes = 0;
  if (is_interleaved && chunks > 1 && all % groups == 0) {
    const int64_t begun = std::min(chunks * all, (chunks - 1) * groups + 2 * (groups - 1 - group) + 1);
    for (int64_t slot = 0; slot < begun; ++slot) bytes += stages_.kept(group + slot / groups % chunks * groups);
    return bytes;
  }
  for (int64_t s = group; s < stages_.stages(); s += groups) {
    bytes += stages_.kept(s) * static_cast<double>(chunks == 1 ? std::min(all, stages_.stages() - s) : 1);
  }
  return bytes;
}

/// Returns the numbers of micro-batches in flight on each stage of a group at the moment when they need the most
/// memory. `kept` is the bytes of a micro-batch per stage of the group.
const std::vector<int64_t>& StepMemory::fullest_moment(int64_t group, const std::vector<double>& kept) const {
  const KeptMicroBatches& moments = kept_micro_batches()[static_cast<size_t>(group)];
  return *std::ranges::max_element(moments,
                                   [&](const auto& a, const auto& b) { return bytes_of(a, kept) < bytes_of(b, kept); });
}

/// Peak bytes of activations in flight on a group if its stages have these layers, one entry per stage.
double StepMemory::max_in_flight(int64_t group, const std::vector<StageLayers>& layers) const {
  std::vector<double> kept;
  for (size_t i = 0; i < layers.size(); ++i) {
    kept.push_back(stages_.kept(group + static_cast<int64_t>(i) * configuration().pipeline, layers[i]));
  }
  return bytes_of(fullest_moment(group, kept), kept);
}

/// Returns the peak bytes in the backward pass of all layers on one rank, while activations are released and gradients
/// of parameters are made, plus those of the largest value that is gathered again. `bytes_of_gradients` gives the bytes
/// of the elements made so far. Layers are followed from the last to the first. Of equal copies only the first and the
/// last are examined, since memory is linear in between.
double StepMemory::max_in_backward(const StageLayers& layers,
                                   const std::function<double(double)>& bytes_of_gradients) const {
  BackwardMoment before{.bytes = stages_.kept_by(layers)};
  double most = 0, gathered = 0;
  for (size_t u = layers.size(); u-- > 0;) {
    for (size_t p = kPoliciesInOrder.size(); p-- > 0;) {
      const size_t copies = layers[u].of(kPoliciesInOrder[p]);
      if (copies == 0) continue;
      const LayerCosts& of_policy = stages_.costs(kPoliciesInOrder[p]);
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

/// The largest workspace of a layer of a group, in addition to what is kept. Without a pipeline, later layers have
/// released what they kept when the backward pass reaches the layers of a policy. With one, stages keep it for the next
/// micro-batches.
double StepMemory::workspace(const std::vector<StageLayers>& layers) const {
  double most = 0;
  for (const StageLayers& stage : layers) {
    double released = 0;
    std::array<bool, kPoliciesInOrder.size()> is_counted{};
    for (size_t u = stage.size(); u-- > 0;) {
      for (size_t p = kPoliciesInOrder.size(); p-- > 0;) {
        const size_t copies = stage[u].of(kPoliciesInOrder[p]);
        if (copies == 0) continue;
        const LayerCosts& of_policy = stages_.costs(kPoliciesInOrder[p]);
        if (!std::exchange(is_counted[p], true)) most = std::max(most, of_policy.workspace - released);
        if (stages_.stages() == 1) released += static_cast<double>(copies) * of_policy.units[u].kept;
      }
    }
  }
  return most;
}

/// Bytes of whole parameters and gradients under optimizer sharding that are in no other part of the memory; 0 below
/// level 2. Level 3 gathers a parameter while the one before is in use. Other software (`keeps_gradients`) gathers
/// those of a layer, next to the rank's own part of them, and with several micro-batches has the gradients of a layer
/// whole until they are scattered.
double StepMemory::whole_layers(const std::vector<StageLayers>& layers, int64_t zero) const {
  const Precision& precision = stages_.request().precision;
  const bool by_layer = stages_.request().cluster.software.keeps_gradients;
  double largest = 0, all = 0;
  for (const StageLayers& stage : layers) {
    for (size_t u = 0; u < stage.size(); ++u) {
      if (stage[u].count() == 0) continue;
      const UnitCosts& unit = stages_.costs().units[u];
      largest = std::max(largest, by_layer ? unit.parameters : unit.largest);
      all += unit.parameters * static_cast<double>(stage[u].count());
    }
  }
  const double two = std::min(2 * largest, all);
  if (!by_layer) return zero >= 3 ? two * precision.weight : 0;
  const double others = 1 - 1 / static_cast<double>(stages_.sharing_ranks());  // a rank already has its own part
  double bytes = zero >= 3 ? two * precision.weight * others : 0;
  if (zero >= 2 && stages_.micro_batches() > 1) bytes += largest * precision.gradient * others;
  return bytes;
}

/// Returns the bytes of gradients of a group in addition to `other`. With several micro-batches they are
/// accumulated, from level 2 on only a rank's part of them. The parts that a rank updates, of gradients at level 1 and
/// of parameters at levels 1 and 2, reuse the memory of activations and workspace. With a single micro-batch and no
/// pipeline, gradients are made while activations are released. They are in whole buckets if they are all-reduced. From
/// level 1 on parts come on top, and whole gradients are released once they are scattered (`scattered_bytes`).
double StepMemory::gradient_bytes(const UnitCosts& own, int64_t zero, const StageMemory& other,
                                  const StageLayers& layers) const {
  const Precision& precision = stages_.request().precision;
  const auto ranks = static_cast<double>(stages_.sharing_ranks());
  // With a pipeline there are those of parameters that other stages own or use, too.
  const double elements = own.parameters + (configuration().pipeline > 1 ? own.tied + own.lent : 0);
  const double of_rank = own.small_parameters + (elements - own.small_parameters) / ranks;
  const double whole = elements * precision.gradient, part = of_rank * precision.gradient,
               others = other.activations + other.workspace;
  if (stages_.micro_batches() > 1) {
    const double parts = (zero == 1 ? part : 0) + (zero == 1 || zero == 2 ? of_rank * precision.weight : 0);
    return (zero >= 2 ? part : whole) + std::max(0.0, parts - others);
  }
  const double scattered = zero >= 1 && elements > 0 ? of_rank / elements : 0;
  if (stages_.stages() > 1) return whole * (1 + scattered);
  double largest = 0;
  for (size_t u = 0; u < layers.size(); ++u) {
    if (layers[u].count() > 0) largest = std::max(largest, stages_.costs().units[u].largest * precision.gradient);
  }
  const auto bucket = static_cast<double>(ranks > 1 && zero == 0 ? ScheduleOptions{}.bucket_bytes : 0);
  const double in_flight = ranks > 1 && zero >= 1 ? scattered_bytes(largest) + largest : whole;
  const double most = max_in_backward(layers, [&](double made_elements) {
    const double made = made_elements * precision.gradient;
    return std::min({whole, made + bucket, in_flight}) + made * scattered;
  });
  return std::max(0.0, stages_.costs().inputs + most - others);
}

}  // namespace partita

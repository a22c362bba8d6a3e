#include "planner/pricing/step/stage_seconds.h"

#include <algorithm>

#include "planner/cluster/collective_seconds.h"

namespace partita {
namespace {

constexpr int64_t kFollowedRounds = 4;  // rounds of one micro-batch per group, after which an order repeats

/// Returns how many of `micro_batches` micro-batches to simulate: all of up to four rounds of one per group, else these
/// rounds and the remainder of the division by `groups`. The others repeat these.
int64_t followed(int64_t micro_batches, int64_t groups) {
  const int64_t most = kFollowedRounds * groups;
  return micro_batches <= most ? micro_batches : most + micro_batches % groups;
}

}  // namespace

StageSeconds::StageSeconds(const StageCosts& stages)
    : stages_(stages), configuration_(stages.configuration()), received_(find_transfers()) {
  for (int64_t s = 0; s < stages_.stages(); ++s) {
    const UnitCosts& stage = stages_.stage(s);
    seconds_.push_back(stage.seconds());
    const double got = transfer(s), back = s + 1 < stages_.stages() ? transfer(s + 1) : 0;
    shape_.groups.push_back(stages_.group_of(s));
    shape_.times.push_back({stage.forward.seconds() + got, stage.backward.seconds() - stage.backward_weights + back,
                            stage.backward_weights});
    transfers_.push_back(got + back);
  }
  shape_.micro_batches = followed(stages_.micro_batches(), configuration_.pipeline);
  const Places::Ranks& ranks = stages_.ranks();
  for (int64_t group = 0; stages_.sharing_ranks() > 1 && group < configuration_.pipeline; ++group) {
    batch_places_.push_back(&stages_.request().places.batch(ranks, group * ranks.count()));
  }
}

const Sequence& StageSeconds::sequence() const {
  if (sequence_ == nullptr) sequence_ = &stages_.request().orders.of(configuration_.order, shape_);
  return *sequence_;
}

double StageSeconds::computed(int64_t group) const {
  double seconds = 0;
  for (int64_t s = group; s < stages_.stages(); s += configuration_.pipeline) seconds += seconds_[s];
  return seconds * static_cast<double>(stages_.micro_batches());
}

double StageSeconds::transfers(int64_t group) const {
  double seconds = 0;
  for (int64_t s = group; s < stages_.stages(); s += configuration_.pipeline) seconds += transfers_[s];
  return seconds * static_cast<double>(stages_.micro_batches());
}

double StageSeconds::repeated(int64_t group) const {
  const double computed = this->computed(group), transfers = this->transfers(group);
  return stages_.request().cluster.software.waits_for_transfers ? computed + transfers : std::max(computed, transfers);
}

std::vector<double> StageSeconds::find_transfers() const {
  std::vector<double> received(static_cast<size_t>(stages_.stages()), 0);
  if (configuration_.pipeline == 1) return received;
  const bool in_parts = configuration_.sequence_parallel || configuration_.cuts == TensorCuts::searched;
  const double shares = in_parts ? 1 : static_cast<double>(configuration_.tensor);
  Places& places = stages_.request().places;
  const GroupPlace* last = nullptr;
  double last_bytes = 0;
  for (int64_t s = 1; s < stages_.stages(); ++s) {
    const int from = stages_.group_of(s - 1), to = stages_.group_of(s);
    const double bytes = stages_.stage(s).boundary;
    const GroupPlace& between =
        places.between(from * stages_.ranks().count(), to * stages_.ranks().count(), stages_.ranks().count());
    received[s] = received[s - 1];
    if (&between == last && bytes == last_bytes) continue;
    received[s] = places.seconds(Collective::send, bytes / shares, between) +
                  stages_.request().cluster.software.transfer_overhead;
    if (shares > 1) received[s] += places.seconds(Collective::all_gather, bytes, places.tensor(stages_.ranks(), 0));
    last = &between;
    last_bytes = bytes;
  }
  return received;
}

bool StageSeconds::send_alike(int64_t group, int64_t other) const {
  const bool is_same_place =
      batch_places_.empty() || batch_places_[static_cast<size_t>(group)] == batch_places_[static_cast<size_t>(other)];
  return is_same_place && stages_.layers_of(group) == stages_.layers_of(other);
}

const SecondsByKind& StageSeconds::gradients(size_t unit, int64_t group, int64_t zero) const {
  static const SecondsByKind kNone;
  if (stages_.sharing_ranks() == 1) return kNone;
  const GroupPlace& where = *batch_places_[static_cast<size_t>(group)];
  const auto [cached, fresh] = gradient_cache_.try_emplace({&where, unit, zero});
  if (!fresh) return cached->second;
  SecondsByKind& result = cached->second;
  const double parameters = stages_.costs().units[unit].parameters;
  const Precision& precision = stages_.request().precision;
  const double gradients = parameters * precision.sent_gradient, weights = parameters * precision.weight;
  const DType summed = summed_dtype(precision.sent_gradient);
  const auto seconds = [&](Collective kind, double bytes) {
    return stages_.request().places.seconds(kind, bytes, where, summed);
  };
  const auto rounds = static_cast<double>(stages_.micro_batches());
  if (zero == 0) result[Collective::all_reduce] += seconds(Collective::all_reduce, gradients);
  if (zero == 1) result[Collective::reduce_scatter] += seconds(Collective::reduce_scatter, gradients);
  if (zero >= 2) result[Collective::reduce_scatter] += rounds * seconds(Collective::reduce_scatter, gradients);
  if (zero == 1 || zero == 2) result[Collective::all_gather] += seconds(Collective::all_gather, weights);
  if (zero == 3) result[Collective::all_gather] += 2 * rounds * seconds(Collective::all_gather, weights);
  return result;
}

bool StageSeconds::waits_for_micro_batches(int64_t zero) const {
  return zero >= 2 && stages_.micro_batches() > 1 && !stages_.request().cluster.software.overlaps_micro_batches;
}

double StageSeconds::update(const UnitCosts& costs, int64_t zero) const {
  const Precision& precision = stages_.request().precision;
  const double parts = zero >= 1 ? static_cast<double>(stages_.sharing_ranks()) : 1;
  const double moved = costs.parameters * (2 * precision.weight + precision.gradient + 2 * precision.master) +
                       costs.optimizer * 2 * precision.state;  // read and written
  return seconds_of({.kind = WorkKind::pointwise, .flops = costs.parameters / parts, .bytes = moved / parts},
                    stages_.request().device);
}

}  // namespace partita

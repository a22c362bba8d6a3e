#include "planner/pricing/step/step_bound.h"

#include <algorithm>

namespace partita {

double StepBound::seconds(int64_t zero) {
  std::optional<double>& cached = cache_[static_cast<size_t>(zero)];
  if (!cached) cached = find(zero);
  return *cached;
}

double StepBound::find(int64_t zero) const {
  double longest = 0, before = 0, after = 0;
  Messages sent;
  for (int64_t group = 0; group < stages_.configuration().pipeline; ++group) {
    if (group == 0 || !seconds_.send_alike(group - 1, group)) sent = messages(group, zero);
    const Ends ends = earliest(group, zero, before, sent);
    if (group == 0) after = ends.update;
    // Gradients of weights, and what reduces them, may come after the last backward pass.
    double weights = ends.waited;
    for (int64_t s = group; s < stages_.stages() && stages_.configuration().order == Order::zero_bubble;
         s += stages_.configuration().pipeline)
      weights += seconds_.shape().times[s].weight * static_cast<double>(stages_.micro_batches());
    const double handed = ends.computed - weights;
    longest = std::max({longest, ends.updated, handed + after});
    before += seconds_.shape().times[group].forward;
    after += seconds_.shape().times[group].backward;
  }
  double through = 0;  // a micro-batch through all stages, forward and backward
  for (const StageTimes& stage : seconds_.shape().times) through += stage.forward + stage.backward;
  return std::max(longest, through) + stages_.request().cluster.overhead_of_step(stages_.configuration().ranks());
}

/// Returns the earliest times at which a group has run its sections and finished its update, and the seconds of the
/// update, if no section begins before the time `before`. If m seconds of messages overlap with c seconds of
/// computation, both take at least m, and at least c + m (1 - 1 / slowdown). Messages of the last section are sent
/// after that begins. Parameters of the first forward pass may be gathered before it.
StepBound::Ends StepBound::earliest(int64_t group, int64_t zero, double before, const Messages& sent) const {
  const double first = stages_.stage(group).forward.seconds(), last = stages_.stage(group).backward.seconds();
  // Transfers are included in the micro-batches that repeat others, and in all of them if the software waits for
  // transfers.
  const double followed =
      static_cast<double>(seconds_.shape().micro_batches) / static_cast<double>(stages_.micro_batches());
  const double repeated = stages_.request().cluster.software.waits_for_transfers ? 1 : 1 - followed;
  Ends ends{.update = seconds_.update(stages_.group(group), zero) + sent.exposed, .waited = sent.waited};
  ends.computed = std::max(before, sent.prefetched - first) + seconds_.computed(group) * (1 - repeated) +
                  seconds_.repeated(group) * repeated + sent.waited;
  const double slowed = (sent.overlapped - sent.first) * (1 - 1 / stages_.request().cluster.software.overlap_slowdown);
  const double began = ends.computed - sent.waited - last;  // earliest begin of the last section
  const double sending = sent.waited > 0 ? sent.overlapped - sent.ahead + sent.waited : sent.overlapped;
  ends.updated = std::max({ends.computed + slowed, began + sent.last, sending}) + ends.update;
  return ends;
}

StepBound::Messages StepBound::messages(int64_t group, int64_t zero) const {
  Messages sent;
  const SoftwareCosts& software = stages_.request().cluster.software;
  const auto rounds = static_cast<double>(stages_.micro_batches());
  for (int64_t s = group; s < stages_.stages(); s += stages_.configuration().pipeline) {
    const auto add_last = [&](double seconds) {
      if (software.reduces_after_backward) return void(sent.exposed += seconds);
      sent.overlapped += seconds;
      if (s == group) sent.last += seconds;
    };
    const StageLayers& layers = stages_.layers_of_stage(s);
    double all_layers = 0;
    for (const UnitCopies& copies : layers) all_layers += static_cast<double>(copies.count());
    for (size_t u = 0; u < layers.size(); ++u) {
      const auto count = static_cast<double>(layers[u].count());
      if (count == 0) continue;
      const UnitCosts& unit = stages_.costs().units[u];  // recomputation does not change gradients
      SecondsByKind sent_seconds = unit.late;
      sent_seconds.add(seconds_.gradients(u, group, zero));
      for (const auto& [kind, seconds] : sent_seconds) {
        if (kind != Collective::all_gather) {
          const double late = unit.late.contains(kind) ? unit.late.at(kind) : 0, each = seconds - late;
          if (seconds_.waits_for_micro_batches(zero)) {
            sent.waited += count * each;
            sent.ahead += count * late;
            add_last(count * late);
            continue;
          }
          add_last(count * (late + (zero >= 2 ? each / rounds : each)));
          if (zero >= 2) sent.overlapped += count * each * (rounds - 1) / rounds;
        } else if (zero == 3) {
          sent.overlapped += count * seconds;
          sent.first += count * seconds / (2 * rounds);
          // Those of the first layer of a section, and all of the last section, whose layers are gathered one by one.
          sent.ahead += count * seconds * (1 / all_layers + 1 / (2 * rounds));
        } else {
          (software.prefetches_parameters ? sent.prefetched : sent.exposed) += count * seconds;
        }
      }
    }
  }
  return sent;
}

}  // namespace partita

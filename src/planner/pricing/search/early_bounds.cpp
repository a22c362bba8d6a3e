#include "planner/pricing/search/early_bounds.h"

#include <algorithm>
#include <cmath>

namespace partita {
namespace {

/// Whether a group may make gradients of weights after it has passed a micro-batch on.
bool delays_weights(const Configuration& configuration) {
  return configuration.order == Order::zero_bubble && configuration.pipeline > 1;
}

}  // namespace

/// The slowest group takes at least the average. If each group has one stage, it is idle while the first and the last
/// of the R micro-batches are on earlier groups: with T(g) seconds of a micro-batch on group g, of which the share x
/// delays later groups, the step takes x T(0) + .. + x T(g - 1) + R T(g). The largest of these is least where all are
/// equal, T(g + 1) = T(g) (R - x) / R.
double filling_bound(const Configuration& configuration, int64_t rounds, const RowSeconds& rows) {
  const auto count = static_cast<double>(rounds), groups = static_cast<double>(configuration.pipeline);
  const double through = rows.all - (delays_weights(configuration) ? rows.weights : 0);
  const double delaying = delays_weights(configuration) ? rows.forward_share : 1;
  const bool is_filled = configuration.interleave == 1 && delaying > 0;
  const double share = is_filled ? delaying / (1 - std::pow(1 - delaying / count, groups)) : count / groups;
  return std::max(through, share * rows.all) * static_cast<double>(configuration.micro_batch);
}

double mean_group_bound(const Configuration& configuration, int64_t rounds, const RowSeconds& rows,
                        const LayerMessages& messages, const Cluster& cluster) {
  const SoftwareCosts& software = cluster.software;
  const auto count = static_cast<double>(rounds), groups = static_cast<double>(configuration.pipeline);
  const int64_t zero = configuration.zero, stages = configuration.pipeline * configuration.interleave;
  // Sums over all groups.
  double computed = count * rows.all * static_cast<double>(configuration.micro_batch), overlapped = 0, exposed = 0;
  if (software.waits_for_transfers)
    computed += count * 2 * static_cast<double>(stages - 1) * software.transfer_overhead;
  if (zero >= 2 && rounds > 1 && !software.overlaps_micro_batches) {
    exposed += count * messages.reduce_scatter;
  } else {
    (software.reduces_after_backward ? exposed : overlapped) +=
        zero == 0 ? messages.all_reduce : messages.reduce_scatter;
    if (zero >= 2) overlapped += (count - 1) * messages.reduce_scatter;
  }
  if (zero == 3) overlapped += (2 * count - 1) * messages.all_gather;  // without those of the first forward pass
  if ((zero == 1 || zero == 2) && !software.prefetches_parameters) exposed += messages.all_gather;
  const double slowed = overlapped * (1 - 1 / software.overlap_slowdown);
  return (computed + slowed + exposed) / groups + cluster.overhead_of_step(configuration.ranks());
}

double layout_bound(const Configuration& configuration, int64_t rounds, LayerSeconds& layers, const Cluster& cluster) {
  const int64_t groups = configuration.pipeline, stages = groups * configuration.interleave;
  const std::vector<size_t>& begins = layers.begins(stages, configuration.layer_split);
  const double waits = cluster.software.waits_for_transfers ? cluster.software.transfer_overhead : 0;
  double longest = 0, before = 0;  // before: in which the first and the last micro-batch are on earlier groups
  for (int64_t group = 0; group < groups; ++group) {
    double own = 0;
    for (int64_t s = group; s < stages; s += groups)
      own += layers.all(begins[s], begins[s + 1]) +
             waits * static_cast<double>((s > 0 ? 1 : 0) + (s + 1 < stages ? 1 : 0));
    longest = std::max(longest, before + static_cast<double>(rounds) * own);
    before += delays_weights(configuration) ? layers.forward(begins[group], begins[group + 1])
                                            : layers.all(begins[group], begins[group + 1]);
  }
  return longest + cluster.overhead_of_step(configuration.ranks());
}

}  // namespace partita

#pragma once
// A lower bound of the time of a step, without a simulation.

#include <array>
#include <optional>

#include "planner/pricing/step/stage_costs.h"
#include "planner/pricing/step/stage_seconds.h"

namespace partita {

/// Computes and caches lower bounds by level of optimizer sharding.
class StepBound {
 public:
  /// Both arguments must outlive this object.
  StepBound(const StageCosts& stages, const StageSeconds& seconds) : stages_(stages), seconds_(seconds) {}

  /// A lower bound of the seconds of a step of these stages at level `zero`, instead of that of the configuration. A
  /// group runs all of its sections: its first after the forward pass of the stages before it, its last before their
  /// backward pass. Overlapped messages slow it down, and the rest of the last gradients follows.
  double seconds(int64_t zero);

 private:
  /// Seconds of a group's messages among the ranks that share the batch, each layer by itself.
  struct Messages {
    double overlapped = 0;  // all messages of a step that overlap with computation
    double ahead = 0;       // part of `overlapped`: may also overlap with messages for which the group waits
    double last = 0;        // part of `overlapped`: gradients of its last section
    double first = 0;       // part of `overlapped`: parameters for the first forward pass
    double prefetched = 0;  // parameters updated in parts, gathered overlapped with the first forward pass
    double exposed = 0;     // parameters gathered after the update, and gradients reduced after the backward pass
    double waited = 0;      // gradients of micro-batches while nothing is computed
  };
  /// The earliest time at which a group has run its last section, the earliest finish of its update, and the seconds
  /// of that update and of the reductions for which the group stops computing.
  struct Ends {
    double computed = 0, updated = 0, update = 0, waited = 0;
  };

  double find(int64_t zero) const;
  Messages messages(int64_t group, int64_t zero) const;
  Ends earliest(int64_t group, int64_t zero, double before, const Messages& sent) const;

  const StageCosts& stages_;
  const StageSeconds& seconds_;
  std::array<std::optional<double>, kMaxZero + 1> cache_{};  // by level; none: not computed yet
};

}  // namespace partita

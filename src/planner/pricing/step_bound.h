#pragma once
// Seconds that a step of a configuration takes at least, without following one.

#include <array>
#include <optional>

#include "planner/pricing/stage_costs.h"
#include "planner/pricing/stage_seconds.h"

namespace partita {

class StepBound {
 public:
  /// Both outlive this.
  StepBound(const StageCosts& stages, const StageSeconds& seconds) : stages_(stages), seconds_(seconds) {}

  /// No step of these stages takes less time. A group runs all of its sections, the first behind the forward of the
  /// stages in front and the last in front of their backward; what it sends beside them slows it down, and what is left
  /// of the last gradients comes behind. For `zero` in the place of the configuration's level.
  double seconds(int64_t zero);

 private:
  /// Seconds in which a group sends to the ranks that share the batch, each layer by itself.
  struct Messages {
    double beside = 0;  // in all of a step, beside what is computed
    double last = 0;    // of these, of gradients that come of its last section
    double first = 0;   // of these, of parameters for the first forward
    double ahead = 0;   // of what the update made in parts, beside the first forward
    double behind = 0;  // the same, and gradients where the software reduces them so, when all is computed
  };
  /// When a group has run its last section, and when its update is done, at the soonest; how long that takes.
  struct Ends {
    double computed = 0, updated = 0, update = 0;
  };

  double find(int64_t zero) const;
  Messages messages(int64_t group, int64_t zero) const;
  Ends soonest(int64_t group, int64_t zero, double before) const;

  const StageCosts& stages_;
  const StageSeconds& seconds_;
  std::array<std::optional<double>, kMaxZero + 1> known_{};  // by level, once it was asked for
};

}  // namespace partita

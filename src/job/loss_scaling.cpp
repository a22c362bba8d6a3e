#include "job/loss_scaling.h"

#include <algorithm>

#include "compiler/autodiff/training_graph.h"

namespace partita {

LossScaling loss_scaling_of(const TrainingConfig& config) {
  if (config.loss_scaling != LossScaling::automatic) return config.loss_scaling;
  if (config.loss_scale) return LossScaling::fixed;
  const auto is_f16 = [](const std::string& layer) { return layer.ends_with("=f16"); };
  const bool has_f16 = config.precision == MixedPrecision::f16 || std::ranges::any_of(config.precision_of, is_f16);
  return has_f16 ? LossScaling::dynamic : LossScaling::off;
}

bool skips_bad_steps(const TrainingConfig& config) {
  return config.on_nan == OnNan::skip || loss_scaling_of(config) == LossScaling::dynamic;
}

void add_loss_scaling(TrainingOptions& options, const TrainingConfig& config) {
  options.scales_loss = loss_scaling_of(config) != LossScaling::off;
  options.checks_gradients = options.scales_loss || skips_bad_steps(config);
}

void verify_loss_scaling(const TrainingConfig& config) {
  if (config.loss_scaling != LossScaling::fixed || config.loss_scale) return;
  throw InvalidArgument("[--loss-scaling] no scale, got static, expected --loss-scale NUMBER, or dynamic");
}

}  // namespace partita

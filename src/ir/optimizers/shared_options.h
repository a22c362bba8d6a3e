#pragma once
// Options that several optimizers have, each with its own default.

#include "ir/optimizers/optimizer_def.h"

namespace partita {

inline OptimizerOption momentum_option(double standard) {
  return {
      .name = "momentum", .standard = standard, .elsewhere = 0.9, .help = "Share of the momentum that a step keeps"};
}
inline OptimizerOption nesterov_option(bool standard) {
  return {.name = "nesterov",
          .standard = standard ? 1.0 : 0.0,
          .elsewhere = 0,
          .help = "Nesterov's form of momentum",
          .is_switch = true};
}
inline OptimizerOption beta1_option(double standard) {
  return {.name = "beta1",
          .standard = standard,
          .elsewhere = 0.9,
          .help = "Decay of the mean of gradients",
          .synonyms = {"adam-beta1"}};
}
inline OptimizerOption beta2_option(double standard) {
  return {.name = "beta2",
          .standard = standard,
          .elsewhere = 0.999,
          .help = "Decay of the mean of squared gradients",
          .synonyms = {"adam-beta2"}};
}
inline OptimizerOption rho_option(double standard) {
  return {.name = "rho",
          .standard = standard,
          .elsewhere = 0.9,
          .help = "Decay of the mean of squared gradients, without a correction of its bias"};
}
inline OptimizerOption epsilon_option(double standard) {
  return {.name = "epsilon",
          .standard = standard,
          .elsewhere = 1e-8,
          .help = "Number added to the denominator",
          .synonyms = {"adam-eps", "eps"}};
}

}  // namespace partita

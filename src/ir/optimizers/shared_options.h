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

/// Checks that epsilon is above 0: an average of gradients of 0 is divided by it. Throws InvalidArgument otherwise.
inline void require_epsilon(std::string_view optimizer, const UpdateCall& call) {
  if (call.number("epsilon") > 0) return;
  throw InvalidArgument("[{}] bad epsilon, got {}, expected a number above 0", optimizer, call.number("epsilon"));
}

/// Checks that the decays of the averages are below 1, since their bias is divided out, and that epsilon is above 0.
/// Throws InvalidArgument otherwise.
inline void require_betas(std::string_view optimizer, const UpdateCall& call) {
  for (const char* name : {"beta1", "beta2"}) {
    if (call.number(name) < 1) continue;
    throw InvalidArgument("[{}] bad {}, got {}, expected a number from 0 to below 1", optimizer, name,
                          call.number(name));
  }
  require_epsilon(optimizer, call);
}

}  // namespace partita

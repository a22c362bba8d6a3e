#pragma once
// A graph on ranks against the interpreter.

#include "compiler/compile.h"
#include "ir/kernels/kernel_set.h"

namespace partita {

struct InterpretedRun {
  int ranks = 1;
  int steps = 2;
  KernelSet kernels = KernelSet::reference;
  PlanOptions plan = {};
  int64_t below = 100;          // integer inputs are below
  bool initial_states = false;  // states are those of their initializers; else normal
  double tolerance = 1e-12;     // relative, of each value as a whole
};

/// Runs the steps from random states and inputs and compares states and outputs, on every rank, with the interpreter.
Program expect_interpreted(const Graph& graph, const InterpretedRun& run);

/// Checks a local graph that was written by hand in the same way. `ranks` and `plan` are in it. Collectives are the
/// identity.
Schedule expect_interpreted(const LocalGraph& local, const InterpretedRun& run, const ScheduleOptions& options = {});

}  // namespace partita

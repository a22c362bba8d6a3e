#pragma once
// Runs the trials of a sweep one after another, each as a process of its own.

#include <functional>

#include "runtime/launch/signals.h"
#include "training/sweep/trial_results.h"

namespace partita {

struct SweepOptions {
  std::string folder;           // for results, and a run for each trial
  std::string program;          // this program, which trains a trial: PROGRAM train --config FILE --run DIR --quiet
  bool retries_failed = false;  // whether failed trials of an earlier call are run again
  std::function<void(const std::string&)> tell{};  // receives a line per trial
  std::function<void(const std::string&)> warn{};  // receives warnings
  std::function<SignalRequests()> signals{};       // polled while a trial runs
};

/// Runs the trials that have no result in the folder, and returns all results of the sweep in the order of its trials.
/// A trial that fails is recorded with its exit code and its error, and the sweep goes on. Trials that an earlier call
/// has finished are not repeated; one that was interrupted is. Throws InvalidArgument if the folder holds another
/// sweep, RuntimeFailure with 128 + its number after a signal, which the running trial gets too,
/// RuntimeFailure(cannot_write) if the folder cannot be written or another job has it, and what reading the base
/// configuration throws.
std::vector<TrialResult> run_sweep(const Sweep& sweep, const SweepOptions& options);

/// Formats the values of a trial: "batch 16, learning_rate 0.01".
std::string print_values(const KeyValues& values);

}  // namespace partita

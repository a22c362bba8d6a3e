#pragma once
// This machine as a cluster.

#include <functional>
#include <string>

#include "calibrate/collective_times.h"
#include "calibrate/training_times.h"
#include "planner/cluster/cluster.h"

namespace partita {

/// Common layers in common sizes, so that each kind of work is there small and large.
std::vector<TrainingCase> calibration_cases();
/// Of each kind of network one, trained as users do: on one core and on all, and beside others.
std::vector<TrainingCase> calibration_core_cases();
/// On several ranks, with many collectives.
std::vector<TrainingCase> calibration_rank_cases();

struct CalibrationOptions {
  std::string name = "this machine";
  int cores = 1;
  double seconds = 10;  // of measuring, about; compiling what is measured comes to it
  int rounds = 3;
  std::vector<TrainingCase> cases = calibration_cases(), core_cases = calibration_core_cases(),
                            rank_cases = calibration_rank_cases();
  std::function<void(const std::string&)> progress = nullptr;  // a line now and then
};

/// What each further core adds to a training, in shares of one, and the typical length of its calls.
struct ThreadGain {
  double call_seconds = 0, share = 1;
};

/// What was measured.
struct Measurements {
  double copy_bandwidth = 0, copy_bandwidth_of_all = 0;  // bytes/s read and written by one core, by all together
  std::map<DType, double> peak;                          // flop/s of the best product on one core
  std::vector<ThreadGain> thread_gains;                  // of the trainings on one core and on all
  double busy_share = 1;
  double overhead = 0;                  // seconds of a step of a training beside its instructions
  std::vector<TrainingTime> trainings;  // the cases
  std::vector<double> steps_of_ranks;   // of trainings with many collectives
  std::vector<CollectiveTime> collectives;

  /// The worst of the trainings.
  double disturbance() const;
};

/// Number by number, of rounds of the same measurements.
Measurements median(std::vector<Measurements> rounds);

/// Trains small perceptrons, convolutional networks and transformers on one core, on all of them and on several ranks,
/// and lets 2, 4 and 8 threads communicate, all that several times: what disturbs one round is not in the medians.
/// Nothing else should run meanwhile.
Measurements measure_machine(const CalibrationOptions& options);

/// A cluster of as many ranks as there are cores (and no fewer than 8), that meets the measurements; verified.
Cluster fit_machine(const Measurements& measured, const CalibrationOptions& options);

/// How well a cluster meets the measurements: the mean and largest error of steps and of collectives.
std::string describe_fit(const Measurements& measured, const CalibrationOptions& options, const Cluster& cluster);

}  // namespace partita

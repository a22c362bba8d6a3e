#pragma once
// Calibration: measures this machine and describes it as a cluster.

#include <functional>
#include <string>

#include "calibrate/collective_times.h"
#include "calibrate/training_times.h"
#include "planner/cluster/cluster.h"

namespace partita {

/// Returns trainings with common layers in common sizes, so that each kind of work occurs in small and large: most on
/// one rank, some on 2 or 4.
std::vector<TrainingCase> calibration_cases();
/// Returns a training of each kind of network, to be timed on one core, on all cores together, and as one training per
/// core at once.
std::vector<TrainingCase> calibration_core_cases();
/// Returns trainings on several ranks with many collectives.
std::vector<TrainingCase> calibration_rank_cases();

struct CalibrationOptions {
  std::string name = "this machine";
  int cores = 1;
  double seconds = 10;  // approximate seconds of measuring; compilation comes on top
  int rounds = 3;
  std::vector<TrainingCase> cases = calibration_cases(), core_cases = calibration_core_cases(),
                            rank_cases = calibration_rank_cases();
  std::function<void(const std::string&)> progress = nullptr;  // receives a line of progress
};

/// Gain of a training from each further core, as a share of one core, and the typical length of its calls in seconds.
struct ThreadGain {
  double call_seconds = 0, share = 1;
};

/// Measurements of a machine.
struct Measurements {
  double copy_bandwidth = 0, copy_bandwidth_of_all = 0;  // bytes/s read and written, by one core and by all together
  std::map<DType, double> peak;                          // flop/s of the best product on one core
  std::vector<ThreadGain> thread_gains;                  // from the trainings on one core and on all
  double busy_share = 1;
  double overhead = 0;                  // seconds of a training step that its instructions do not account for
  std::vector<TrainingTime> trainings;  // one per case
  std::vector<double> steps_of_ranks;   // seconds per step of the trainings with many collectives
  std::vector<CollectiveTime> collectives;

  /// Returns the largest TrainingTime::disturbance; 1 if there are no trainings.
  double disturbance() const;
};

/// Returns the median of each measured number over rounds of the same measurements, of an even number of rounds the
/// larger of the middle two. There must be at least one round.
Measurements median(std::vector<Measurements> rounds);

/// Measures the machine. Times copies in memory, trains small perceptrons, convolutional networks and transformers on
/// one core, on all cores and on several ranks, and times collectives of 2, 4 and 8 threads. All of this is repeated
/// `rounds` times, at least 1, and the medians are returned, so that they exclude a single disturbed round. Nothing
/// else should run at that time. Throws InvalidArgument for a case that cannot be trained, RuntimeFailure(non_finite)
/// if a loss is not finite, RuntimeFailure(out_of_memory) without memory or threads, and what `options.progress`
/// throws.
Measurements measure_machine(const CalibrationOptions& options);

/// Returns a verified cluster fitted to the measurements. It has as many ranks as there are cores, but at least 8.
/// Throws InvalidArgument if the fitted numbers are not those of a cluster, and for a case of `options.rank_cases` that
/// cannot be trained.
Cluster fit_machine(const Measurements& measured, const CalibrationOptions& options);

/// Returns how well a cluster predicts the measurements: a line for each training on one rank, with the measured and
/// predicted milliseconds of a step and the error, and one with the mean and largest error of the collectives' seconds.
std::string describe_fit(const Measurements& measured, const CalibrationOptions& options, const Cluster& cluster);

}  // namespace partita

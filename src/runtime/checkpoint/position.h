#pragma once
// Where a training is, with the numbers and texts that it goes on with besides its states, and what each measures.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "runtime/checkpoint/safetensors_header.h"

namespace partita {

/// A scale of the loss, and what steps with it led to.
struct LossScaleState {
  static constexpr double kMaxScale = 0x1p100;

  double scale = 1;        // from 1 to kMaxScale
  int64_t good_steps = 0;  // in a row, since a dynamic scale changed
  int64_t bad_steps = 0;   // in a row, while the scale could not shrink
  bool operator==(const LossScaleState&) const = default;
};

/// Returns the state of these numbers, as a file has them; none if they are not those of a loss scale: a number from 1
/// to LossScaleState::kMaxScale and two counts, whole numbers from 0 to 2^53.
std::optional<LossScaleState> loss_scale_state(double scale, double good_steps, double bad_steps);

/// A scale of the loss outside of a checkpoint.
struct KeptLossScale {
  LossScaleState state;
  std::string measures;  // name of the measured quantity, as in TrainingPosition::measures
  std::string path{};    // file that it was read from, for messages
};

/// Losses of an epoch in progress.
struct EpochLosses {
  double sum = 0;
  int64_t steps = 0;      // steps of the epoch so far
  int64_t uncounted = 0;  // steps of these whose loss is not in `sum`: it or the sum was not finite, or it was not kept
  bool operator==(const EpochLosses&) const = default;
};

/// A text of Callback::saved.
struct KeptText {
  std::string text;
  std::string measures{};  // name of the measured quantity; "" in files of older programs
  bool operator==(const KeptText&) const = default;
};

/// Names of numbers in TrainingPosition::measures.
inline constexpr const char *kRateMeasure = "learning_rate", *kScaleMeasure = "loss_scale", *kLossMeasure = "losses",
                            *kOptimizerMeasure = "optimizer";

/// Position of a training, and what its order of rows depends on.
struct TrainingPosition {
  int64_t step = 0;  // steps run so far
  int64_t batch = 0, rows = 0;
  uint64_t seed = 0;
  std::optional<double> learning_rate;  // set by a callback in place of the schedule's
  Metadata metadata{};                  // other metadata of the file
  std::optional<LossScaleState> loss_scale{};
  EpochLosses epoch{};
  std::map<std::string, KeptText> callbacks{};  // by key
  /// Names of the quantities that the numbers above measure, by kRateMeasure and others. A number is comparable only
  /// with those that measure the same. Missing in files of older programs.
  std::map<std::string, std::string> measures{};
};

/// Returns what every number and text of a position measures, by name: TrainingPosition::measures and, by "callback."
/// and its key, that of each callback which says so.
std::map<std::string, std::string> all_measures(const TrainingPosition& position);
/// Sets what `all_measures` returned. Ignores callbacks that the position does not have.
void set_measures(TrainingPosition& position, const std::map<std::string, std::string>& all);

/// Returns what the numbers of a file measure, by name, as its metadata have it. Does not look at other entries.
std::map<std::string, std::string> measures_in(const Metadata& metadata);

/// Returns `position.metadata` with the losses, the callbacks and the measures of the position, for files that have
/// only metadata besides tensors.
Metadata metadata_of(const TrainingPosition& position);
/// Moves what `metadata_of` has added from `position.metadata` to the fields of the position. Throws InvalidFile,
/// naming `path`, if the losses are bad.
void take_from_metadata(TrainingPosition& position, const std::string& path);

}  // namespace partita

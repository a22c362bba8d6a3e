#pragma once
// Texts that say what the numbers of a training measure. Two numbers are comparable only if their texts are equal.

#include <functional>
#include <string>

#include "frontend/network/layer.h"
#include "job/config.h"
#include "runtime/checkpoint/position.h"

namespace partita {

struct Measures {
  std::string learning_rate;    // "momentum, constant 0.01": what a rate that a callback sets takes the place of
  std::string loss_scale;       // "off", "static 8", "dynamic f16"
  std::string training_loss;    // "sparse loss of mlp:hidden=64 on rows 5ca1ab1e"
  std::string validation_loss;  // "sparse loss of mlp:hidden=64 on validation rows 100 5ca1ab1e"; or ""
};

/// Returns what the states of the optimizer measure: `own_update`, the name of the update that replaces it, or the kind
/// of the configuration's optimizer if that is "".
std::string optimizer_measure(const JobConfig& config, const std::string& own_update);
/// Returns what the numbers of the training of `config` measure. `of_network`: precisions of its layers. `own_update`:
/// name of the update that replaces the optimizer, or "". `described`: metadata of describe_training.
Measures measures_of(const JobConfig& config, const ScopePrecisions& of_network, const std::string& own_update,
                     const Metadata& described);
/// Returns the texts for TrainingPosition::measures.
std::map<std::string, std::string> named(const Measures& measures);

/// Returns the names of what the numbers of a file measure, by those of TrainingPosition::measures, from the metadata
/// of the file `path`. If it does not have them, those of the loss scale and the learning rate follow from its
/// configuration, and the others are missing. All are missing if the configuration cannot be read.
std::map<std::string, std::string> saved_measures(const Metadata& metadata, const std::string& path);

/// A training that goes on from a checkpoint.
struct GoesOn {
  const JobConfig& config;
  const ScopePrecisions& of_network;
  const std::string& own_update;  // name of the update that replaces the optimizer, or ""
  const Metadata& described;      // metadata of describe_training
};
/// Returns `saved`, the position of the checkpoint `path`, without the numbers that measure something else in the
/// training, or that its configuration sets anew: these begin as in a new training, and `say` gets a sentence for each.
/// Texts of callbacks that do not name what they measure, in files of older programs, get what the saved configuration
/// says of it. Throws InvalidFile if the saved configuration is bad, and what `say` throws.
TrainingPosition comparable_part(TrainingPosition saved, const GoesOn& training, const std::string& path,
                                 const std::function<void(const std::string&)>& say);
/// Returns `saved`, the scale of a training of which nothing else is known, if `measures` names the same as `expected`,
/// a text of Measures::loss_scale. Otherwise `say` gets a sentence, which names the file `path` unless that is "", and
/// the result is none.
std::optional<LossScaleState> comparable_scale(const std::optional<LossScaleState>& saved, const std::string& measures,
                                               const std::string& expected, const std::string& path,
                                               const std::function<void(const std::string&)>& say);

}  // namespace partita

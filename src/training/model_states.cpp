#include "training/model_states.h"

#include "base/is_folder.h"
#include "runtime/checkpoint/documented_names.h"
#include "runtime/checkpoint/saved_states.h"
#include "runtime/checkpoint/weights.h"
#include "runtime/launch/warn.h"
#include "training/configuration.h"
#include "zoo/hugging_face/folder.h"

namespace partita {
namespace {

/// Returns the weights of `graph` by name, those of MindSpore and Hugging Face by the names of the graph. Says what
/// else a file of MindSpore has. `path` is a file that read_weights_file reads, the folder of a checkpoint, a folder of
/// checkpoints, of which the newest whole one is read, or a folder of Hugging Face. Throws MissingFile if `path` cannot
/// be opened or the folder has no checkpoint, and InvalidFile if what it reads is damaged.
std::map<std::string, Array> weights_in(const std::string& path, const Graph& graph) {
  std::map<std::string, Array> weights;
  if (is_hugging_face(path)) {
    const std::vector<NamedType> all = weights_of(graph);
    const std::unique_ptr<WeightSource> source = open_hugging_face(path, all);
    for (const auto& [name, type] : all) {
      Array& array = weights.emplace(name, Array(type)).first->second;
      source->read(name, whole_box(type.shape), type.dtype, array.data());
    }
    return weights;
  }
  const std::vector<std::string> expected = weight_names(graph);
  if (!is_folder(path)) {
    WeightsFile file = read_weights_file(path);
    weights = std::move(file.tensors);
    if (file.is_ckpt && !is_checkpoint(weights)) {
      const std::vector<std::string> states = take_training_states(weights, expected);
      if (!states.empty()) {
        warn(
            fmt::format("[load] {}: the optimizer begins anew, got {} of its states, such as '{}', expected weights: "
                        "load_param_into_net in Python takes them",
                        path, states.size(), states[0]));
      }
    }
    use_expected_names(weights, expected);
    return weights;
  }
  SavedStates states(path);
  for (const auto& entry : states.entries()) {
    if (is_weight(entry.kind)) weights.emplace(entry.name, states.read(entry.name));
  }
  return weights;
}

}  // namespace

void ModelStates::load(const std::string& path) {
  if (known_.states.empty()) {
    loaded_path_ = path;
    return;
  }
  take_weights(states_, known_, weights_in(path, known_), path);
  loaded_path_.clear();
}

void ModelStates::assign(States values) {
  values.merge(states_);
  states_ = std::move(values);
}

void ModelStates::require_some() const {
  if (!known_.states.empty() && states_.empty()) {
    throw InvalidArgument(
        "[save] the ranks of a training hold the states, got a call while it runs, expected one after it or "
        "TrainControl::save_checkpoint");
  }
  if (!known_.states.empty() && loaded_path_.empty()) return;
  const std::string got = !loaded_path_.empty()
                              ? fmt::format("weights loaded from {} that were not used yet", loaded_path_)
                          : is_released_ ? "a model whose training did not keep them"
                                         : "a model that was only constructed";
  throw InvalidArgument("[save] no weights to save, got {}, expected a training, an evaluation or a prediction first",
                        got);
}

void ModelStates::save(const ModelJob& job, const std::string& path) const {
  require_some();
  check_finite(states_, weight_names_);
  if (!job.writes_files()) return;
  std::vector<std::pair<std::string, Array>> weights;
  for (const std::string& name : weight_names_) weights.emplace_back(name, states_.at(name));
  save_weights(path, weights, describe_weights(job.config));
}

void ModelStates::save_checkpoint(const ModelJob& job, const std::string& path) const {
  require_some();
  if (position_.batch == 0) {
    throw InvalidArgument("[save] no training to continue, got a model without one, expected a training first");
  }
  check_finite(states_, weight_names_);
  if (!job.writes_files()) return;
  write_checkpoint(path, states_, kinds_, position_);
}

void ModelStates::prepare(const Graph& graph, uint64_t seed, bool makes_them, bool resumes) {
  if (is_released_ && loaded_path_.empty() && !resumes && states_.empty()) {
    throw InvalidArgument(
        "[model] the states were not kept, got an earlier training that did not keep them, expected one that does, or "
        "load or resume");
  }
  is_released_ = false;
  known_ = states_of(graph);
  for (const auto& [name, kind] : kinds_of(graph)) kinds_[name] = kind;
  weight_names_ = weight_names(graph);
  if (!makes_them) return loaded_path_.clear();
  add_initial_states(states_, graph, seed);
  require_types(states_, graph);
  if (loaded_path_.empty()) return;
  take_weights(states_, graph, weights_in(loaded_path_, graph), loaded_path_);
  loaded_path_.clear();
}

void ModelStates::take(States&& states, TrainingPosition position) {
  check_finite(states, weight_names_);
  states.merge(states_);
  states_ = std::move(states);
  position_ = std::move(position);
}

void ModelStates::release() {
  states_.clear();
  known_ = {};
  kinds_.clear();
  position_ = {};
  is_released_ = true;
}

void ModelStates::restore(const Graph& graph, uint64_t seed, bool makes_them) {
  if (makes_them) add_initial_states(states_, graph, seed);
  if (states_.empty()) known_ = {};
}

bool ModelStates::have_source() const { return states_.empty() && is_hugging_face(loaded_path_); }

std::unique_ptr<WeightSource> ModelStates::source(const Graph& graph) const {
  return open_hugging_face(loaded_path_, weights_of(graph));
}

void ModelStates::put_back(const Waiting& before) {
  if (!before.is_released && !states_.empty()) return;
  if (before.is_released) release();
  loaded_path_ = before.loaded_path;
}

}  // namespace partita

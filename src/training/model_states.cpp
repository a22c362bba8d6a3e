#include "training/model_states.h"

#include <algorithm>

#include "base/is_folder.h"
#include "frontend/network/adapters.h"
#include "ir/optimizers/averages.h"
#include "runtime/checkpoint/documented_names.h"
#include "runtime/checkpoint/saved_states.h"
#include "runtime/checkpoint/weight_source.h"
#include "runtime/checkpoint/weights.h"
#include "runtime/launch/warn.h"
#include "training/configuration.h"
#include "zoo/hugging_face/folder.h"

namespace partita {
namespace {

/// Puts the averages among `tensors` in the places of their parameters. Throws InvalidFile, naming `path`, if there are
/// none.
void take_averages(std::map<std::string, Array>& tensors, const std::string& path) {
  bool has_some = false;
  for (auto one = tensors.begin(); one != tensors.end(); ++one) {
    const auto average = tensors.find(average_of(one->first));
    if (average == tensors.end()) continue;
    one->second = std::move(average->second);
    tensors.erase(average);
    has_some = true;
  }
  if (has_some) return;
  throw InvalidFile("[load] {}: no averages of weights, got the trained ones alone, expected a checkpoint of --ema",
                    path);
}

/// Returns the weights of `graph` from a folder of Hugging Face. Throws MissingFile and InvalidFile as
/// open_hugging_face does.
std::map<std::string, Array> foreign_weights(const std::string& path, const Graph& graph) {
  std::map<std::string, Array> weights;
  const std::vector<NamedType> all = weights_of(graph);
  const std::unique_ptr<WeightSource> source = open_hugging_face(path, all);
  for (const NamedType& weight : all) weights.emplace(weight.name, read_whole(*source, weight));
  return weights;
}

/// Returns the weights of `graph` by name, those of MindSpore and Hugging Face by the names of the graph. Says what
/// else a file of MindSpore has. `path` is a file that read_weights_file reads, the folder of a checkpoint, a folder of
/// checkpoints, of which the newest whole one is read, or a folder of Hugging Face. `averages`: those of a checkpoint
/// in place of its trained weights. Throws MissingFile if `path` cannot be opened or the folder has no checkpoint, and
/// InvalidFile if what it reads is damaged.
std::map<std::string, Array> weights_in(const std::string& path, const Graph& graph, bool averages) {
  std::map<std::string, Array> weights;
  if (is_hugging_face(path)) {
    weights = foreign_weights(path, graph);
    if (averages) take_averages(weights, path);
    return weights;
  }
  const std::vector<std::string> expected = weight_names(graph);
  if (!is_folder(path)) {
    WeightsFile file = read_weights_file(path);
    weights = std::move(file.tensors);
    if (averages) take_averages(weights, path);
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
    const bool is_wanted = is_weight(entry.kind) || (averages && entry.name.ends_with(average_of("")));
    if (is_wanted) weights.emplace(entry.name, states.read(entry.name));
  }
  if (averages) take_averages(weights, path);
  return weights;
}

const State* find_state(const Graph& graph, const std::string& name) {
  const auto found =
      std::ranges::find_if(graph.states, [&](const State& state) { return graph.name_of(state) == name; });
  return found == graph.states.end() ? nullptr : &*found;
}

/// Returns the additions to products in a file and the statistics that it has, in the types of the graph; none for "".
/// Throws MissingFile and InvalidFile as read_weights_file does, and InvalidFile if they are not those of the graph.
std::map<std::string, Array> adapters_in(const std::string& path, const Graph& graph) {
  std::map<std::string, Array> adapters;
  if (path.empty()) return adapters;
  std::map<std::string, Array> tensors = read_weights_file(path).tensors;
  for (const auto& [name, type] : adapters_of(graph)) {
    const auto found = tensors.find(name);
    if (found == tensors.end()) {
      throw InvalidFile("[adapters] {}: no tensor for '{}', got {} others, expected {}", path, name, tensors.size(),
                        print(type));
    }
    adapters.emplace(name, fitted(found->second, type, name, path));
    tensors.erase(found);
  }
  for (const auto& [name, type] : weights_of(graph)) {  // statistics, which move while additions are trained
    const auto found = tensors.find(name);
    const State* state = found == tensors.end() ? nullptr : find_state(graph, name);
    if (state == nullptr || state->kind != StateKind::statistic) continue;
    adapters.emplace(name, fitted(found->second, type, name, path));
    tensors.erase(found);
  }
  if (tensors.empty()) return adapters;
  throw InvalidFile("[adapters] {}: tensor '{}' is no addition of this network, got {} such, expected {} alone", path,
                    tensors.begin()->first, tensors.size(), adapters.size());
}

}  // namespace

void ModelStates::load(const std::string& path, bool averages, const std::string& adapters) {
  loads_averages_ = averages;
  adapters_path_ = adapters;
  if (known_.states.empty()) {
    loaded_path_ = path;
    return;
  }
  take_loaded(known_, path);
  loaded_path_.clear();
}

void ModelStates::take_loaded(const Graph& graph, const std::string& path) {
  std::map<std::string, Array> weights = weights_in(path, graph, loads_averages_);
  for (auto& [name, array] : adapters_in(adapters_path_, graph)) weights.insert_or_assign(name, array);
  take_weights(states_, graph, weights, path);
}

void ModelStates::assign(States values) {
  for (const auto& [name, value] : States(values)) {  // averages begin anew
    const std::string average = average_of(name);
    if (states_.contains(average)) values.try_emplace(average, value);
  }
  values.merge(states_);
  states_ = std::move(values);
}

void ModelStates::require_some() const {
  if (!known_.states.empty() && states_.empty() && loaded_path_.empty()) {
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
  const bool has_adapters = std::ranges::any_of(weight_names_, is_adapter);
  for (const std::string& name : weight_names_) {
    // The others are as they were loaded.
    if (has_adapters && !is_adapter(name) && kinds_.at(name) != StateKind::statistic) continue;
    const auto average = job.config.files.save_averages ? states_.find(average_of(name)) : states_.end();
    weights.emplace_back(name, average != states_.end() ? average->second : states_.at(name));
  }
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
  if (!loaded_path_.empty()) take_loaded(graph, loaded_path_);  // first, so that nothing is drawn in vain
  add_initial_states(states_, graph, seed);
  require_types(states_, graph);
  loaded_path_.clear();
}

std::optional<States> ModelStates::averaged() const {
  States averaged;
  bool has_some = false;
  for (const State& state : known_.states) {
    const std::string& name = known_.name_of(state);
    const auto average = states_.find(average_of(name));
    has_some = has_some || average != states_.end();
    averaged.emplace(name, average != states_.end() ? average->second : states_.at(name));
  }
  return has_some ? std::optional(std::move(averaged)) : std::nullopt;
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

bool ModelStates::have_source() const { return states_.empty() && !loads_averages_ && is_hugging_face(loaded_path_); }

std::unique_ptr<WeightSource> ModelStates::source(const Graph& graph) const {
  return overlaid(adapters_in(adapters_path_, graph), open_hugging_face(loaded_path_, weights_of(graph)));
}

void ModelStates::put_back(const Waiting& before) {
  if (!before.is_released && !states_.empty()) return;
  if (before.is_released) release();
  loaded_path_ = before.loaded_path;
}

}  // namespace partita

#include "runtime/checkpoint/checkpoint.h"

#include "runtime/checkpoint/weights.h"

namespace partita {
namespace {

constexpr const char* kPosition = "checkpoint.position";
constexpr const char* kLearningRate = "checkpoint.learning_rate";
constexpr const char* kSavedScale = "checkpoint.loss_scale";
constexpr double kNotSet = -1;

/// Returns the elements of the tensor kPosition: step, batch, number of rows and seed.
std::vector<int64_t> numbers_of(const TrainingPosition& position) {
  return {position.step, position.batch, position.rows, static_cast<int64_t>(position.seed)};
}

/// Returns the loss scale that `tensors` store; none if they store none. Throws InvalidFile, naming `path`, for one
/// that is not of f64[3], below 1 or not finite.
std::optional<LossScaleState> read_loss_scale(const std::map<std::string, Array>& tensors, const std::string& path) {
  const auto found = tensors.find(kSavedScale);
  if (found == tensors.end()) return std::nullopt;
  const Array& given = found->second;
  std::optional<LossScaleState> state;
  const bool has_numbers = given.type() == Type{DType::f64, {3}};
  if (has_numbers) state = loss_scale_state(given.at(0), given.at(1), given.at(2));
  if (!state) {
    const std::string got = has_numbers ? fmt::format("{}, {}, {}", given.at(0), given.at(1), given.at(2))
                                        : std::string(print(given.type()));
    throw InvalidFile(
        fmt::format("[resume] {}: a bad loss scale, got {} in '{}', expected a number from 1 and two counts", path, got,
                    kSavedScale));
  }
  return state;
}

TrainingPosition read_position(const std::map<std::string, Array>& tensors, const std::string& path) {
  const auto numbers = tensors.find(kPosition), rate = tensors.find(kLearningRate);
  if (numbers == tensors.end() || numbers->second.type() != Type{DType::i64, {4}} || rate == tensors.end() ||
      rate->second.type() != Type{DType::f64, {}} || numbers->second.at(0) < 0) {
    throw InvalidFile(
        fmt::format("[resume] {}: not a checkpoint, got no tensor '{}' with the position of the training, expected a "
                    "file of --checkpoint",
                    path, kPosition));
  }
  const int64_t* all = numbers->second.as<int64_t>();
  TrainingPosition position{.step = all[0], .batch = all[1], .rows = all[2], .seed = static_cast<uint64_t>(all[3])};
  if (rate->second.at(0) >= 0) position.learning_rate = rate->second.at(0);
  position.loss_scale = read_loss_scale(tensors, path);
  return position;
}

void require_same(const char* what, uint64_t got, uint64_t expected, const std::string& path) {
  if (got == expected) return;
  throw InvalidFile(fmt::format("[resume] {}: a training with another {}, got {}, expected {} as in the checkpoint",
                                path, what, got, expected));
}

}  // namespace

void write_checkpoint(const std::string& path, const States& states, const TrainingPosition& position) {
  std::vector<std::string> names;
  for (const auto& [name, value] : states) names.push_back(name);
  check_finite(states, names);
  std::vector<std::pair<std::string, Array>> tensors(states.begin(), states.end());
  for (auto& [name, array] : position_tensors(position)) tensors.emplace_back(name, std::move(array));
  save_weights(path, tensors, metadata_of(position));
}

std::map<std::string, Array> position_tensors(const TrainingPosition& position) {
  std::map<std::string, Array> tensors;
  tensors.emplace(kPosition, Array({4}, numbers_of(position)));
  tensors.emplace(kLearningRate, Array({}, std::vector<double>{position.learning_rate.value_or(kNotSet)}));
  if (const auto& scale = position.loss_scale) {
    const std::vector<double> numbers{scale->scale, static_cast<double>(scale->good_steps),
                                      static_cast<double>(scale->bad_steps)};
    tensors.emplace(kSavedScale, Array({3}, numbers));
  }
  return tensors;
}

TrainingPosition take_position(std::map<std::string, Array>& tensors, const std::string& path) {
  const TrainingPosition position = read_position(tensors, path);
  tensors.erase(kPosition);
  tensors.erase(kLearningRate);
  tensors.erase(kSavedScale);
  return position;
}

bool is_checkpoint(const std::map<std::string, Array>& tensors) { return tensors.contains(kPosition); }

void require_same_rows(const TrainingPosition& then, const TrainingPosition& now, const std::string& path) {
  require_same("batch", static_cast<uint64_t>(now.batch), static_cast<uint64_t>(then.batch), path);
  require_same("number of rows", static_cast<uint64_t>(now.rows), static_cast<uint64_t>(then.rows), path);
  require_same("seed", now.seed, then.seed, path);
}

TrainingPosition take_checkpoint(States& states, const Graph& graph, const std::map<std::string, Array>& tensors,
                                 const TrainingPosition& now, const std::string& path) {
  const TrainingPosition then = read_position(tensors, path);
  require_same_rows(then, now, path);
  States taken = states;
  for (const State& state : graph.states) {
    const std::string& name = graph.values[static_cast<size_t>(state.entry)].name;
    const auto found = tensors.find(name);
    if (found == tensors.end()) {
      throw InvalidFile(
          fmt::format("[resume] {}: no tensor for '{}', got those of another network or optimizer, expected {}", path,
                      name, print(graph.type(state.entry))));
    }
    taken[name] = fitted(found->second, graph.type(state.entry), name, path);
  }
  const size_t expected = graph.states.size() + position_tensors(then).size();
  if (expected != tensors.size()) {
    throw InvalidFile(fmt::format("[resume] {}: tensors of another network or optimizer, got {}, expected {}", path,
                                  tensors.size(), expected));
  }
  states = std::move(taken);
  return then;
}

}  // namespace partita

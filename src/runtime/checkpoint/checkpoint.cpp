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
    throw InvalidFile("[resume] {}: a bad loss scale, got {} in '{}', expected a number from 1 and two counts", path,
                      got, kSavedScale);
  }
  return state;
}

TrainingPosition read_position(const std::map<std::string, Array>& tensors, const std::string& path) {
  const auto numbers = tensors.find(kPosition), rate = tensors.find(kLearningRate);
  if (numbers == tensors.end() || numbers->second.type() != Type{DType::i64, {4}} || rate == tensors.end() ||
      rate->second.type() != Type{DType::f64, {}} || numbers->second.at(0) < 0) {
    refuse_without_position(path);
  }
  const int64_t* all = numbers->second.as<int64_t>();
  TrainingPosition position{.step = all[0], .batch = all[1], .rows = all[2], .seed = static_cast<uint64_t>(all[3])};
  if (rate->second.at(0) >= 0) position.learning_rate = rate->second.at(0);
  position.loss_scale = read_loss_scale(tensors, path);
  return position;
}

}  // namespace

void write_checkpoint(const std::string& path, const std::vector<SavedState>& states,
                      const std::function<Array(const std::string& name)>& read, const TrainingPosition& position) {
  std::vector<std::pair<std::string, Type>> types;
  StateKinds kinds;
  for (const SavedState& state : states) {
    types.emplace_back(state.name, state.type);
    kinds.emplace(state.name, state.kind);
  }
  Metadata metadata = metadata_of(position);
  add_kinds(metadata, kinds);
  const std::map<std::string, Array> numbers = position_tensors(position);
  for (const auto& [name, array] : numbers) types.emplace_back(name, array.type());
  save_tensors(
      path, types,
      [&](const std::string& name) {
        const auto own = numbers.find(name);
        return own != numbers.end() ? own->second : read(name);
      },
      metadata);
}

void write_checkpoint(const std::string& path, const States& states, const StateKinds& kinds,
                      const TrainingPosition& position) {
  std::vector<SavedState> saved;
  for (const auto& [name, value] : states) {
    check_finite(name, value);
    const auto kind = kinds.find(name);
    saved.push_back({name, value.type(), kind != kinds.end() ? kind->second : StateKind::parameter});
  }
  write_checkpoint(
      path, saved, [&](const std::string& name) { return states.at(name); }, position);
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

void refuse_without_position(const std::string& path) {
  throw InvalidFile(
      "[resume] {}: not a checkpoint, got no tensor '{}' with the position of the training, expected a file of "
      "--checkpoint",
      path, kPosition);
}

bool is_checkpoint(const std::map<std::string, Array>& tensors) { return tensors.contains(kPosition); }

}  // namespace partita

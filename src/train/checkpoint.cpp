#include "train/checkpoint.h"

#include "train/weights.h"

namespace partita {
namespace {

constexpr const char* kStep = "checkpoint.step";

}  // namespace

void write_checkpoint(const std::string& path, const States& states, int64_t step) {
  std::vector<std::pair<std::string, Array>> tensors(states.begin(), states.end());
  tensors.emplace_back(kStep, Array({}, std::vector<int64_t>{step}));
  save_weights(path, tensors);
}

bool is_checkpoint(const std::map<std::string, Array>& tensors) { return tensors.contains(kStep); }

int64_t take_checkpoint(States& states, const Graph& graph, const std::map<std::string, Array>& tensors,
                        const std::string& path) {
  const auto step = tensors.find(kStep);
  if (step == tensors.end() || step->second.type() != Type{DType::i64, {}} || step->second.at(0) < 0) {
    throw InvalidFile(
        fmt::format("[resume] {}: no checkpoint, got no tensor '{}' that counts steps, expected a file of "
                    "--checkpoint",
                    path, kStep));
  }
  size_t taken = 1;
  for (const State& state : graph.states) {
    const std::string& name = graph.values[static_cast<size_t>(state.entry)].name;
    const auto found = tensors.find(name);
    if (found == tensors.end()) {
      throw InvalidFile(fmt::format("[resume] {}: no tensor for '{}', expected {}: another network or optimizer", path,
                                    name, print(graph.type(state.entry))));
    }
    states[name] = fitted(found->second, graph.type(state.entry), name, path);
    ++taken;
  }
  if (taken != tensors.size()) {
    throw InvalidFile(fmt::format("[resume] {}: tensors of another network or optimizer, got {}, expected {}", path,
                                  tensors.size(), taken));
  }
  return step->second.as<int64_t>()[0];
}

}  // namespace partita

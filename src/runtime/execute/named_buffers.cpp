#include "runtime/execute/named_buffers.h"

namespace partita {

int NamedBuffers::input(std::string_view name) const {
  const ValueId value = local_.graph.input(name);
  for (size_t i = 0; i < local_.graph.inputs.size(); ++i) {
    if (local_.graph.inputs[i].value == value) return schedule_.inputs[i];
  }
  return -1;
}

int NamedBuffers::output(std::string_view name) const {
  for (size_t k = 0; k < local_.graph.outputs.size(); ++k) {
    if (local_.graph.outputs[k].name == name) return schedule_.outputs[k];
  }
  local_.graph.output(name);  // throws
  return -1;
}

int NamedBuffers::state(std::string_view name) const {
  const auto found = states_.find(name);
  if (found != states_.end()) return schedule_.entry[found->second];
  std::vector<std::string> names;
  for (const State& state : local_.graph.states) names.push_back(local_.graph.name_of(state));
  throw unknown_name("[executor] unknown state", name, fmt::format("one of {} states", names.size()), names);
}

}  // namespace partita

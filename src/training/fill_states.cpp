#include "training/fill_states.h"

#include <map>

#include "ir/optimizers/averages.h"
#include "runtime/execute/shard_copy.h"

namespace partita {

FillState fresh_states(const Graph& graph, uint64_t seed, const WeightSource* source) {
  std::map<std::string, std::string> owners;  // by the name of an average
  for (const State& state : graph.states) {
    if (is_average(graph, state)) owners.emplace(graph.name_of(state), state.owner);
  }
  return [&graph, seed, source, owners](const std::string& name, const Box& box, DType dtype, void* to) {
    const auto owner = owners.find(name);
    const std::string& read = owner == owners.end() ? name : owner->second;
    if (source != nullptr && source->has(read)) return source->read(read, box, dtype, to);
    fill_initial(graph, seed, name, box, dtype, to);
  };
}

FillState states_from(const States& states) {
  return [&states](const std::string& name, const Box& box, DType, void* to) {
    copy_part(states.at(name).tensor(), box, to);
  };
}

}  // namespace partita

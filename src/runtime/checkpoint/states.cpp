#include "runtime/checkpoint/states.h"

#include <algorithm>
#include <cmath>

#include "base/philox.h"
#include "frontend/network/initializers.h"
#include "frontend/network/adapters.h"
#include "ir/optimizers/averages.h"
#include "runtime/checkpoint/checkpoint.h"

namespace partita {
namespace {

bool is_batch_counter(const std::string& name, const Type& type) {
  return type == Type{DType::i64, {}} && name.ends_with(".num_batches_tracked");
}

/// Index of the first element that is NaN or infinite; -1 if there is none, as for integers.
int64_t find_non_finite(const Array& array) {
  int64_t found = -1;
  if (!is_float(array.type().dtype)) return found;
  for_float(array.type().dtype, [&](auto zero) {
    const auto* begin = array.tensor().template as<decltype(zero)>();
    const auto* end = begin + array.type().elements();
    const auto* first = std::find_if(begin, end, [](auto value) { return !std::isfinite(static_cast<double>(value)); });
    if (first != end) found = first - begin;
  });
  return found;
}

/// Returns the shortest prefix, with the dot that ends it, with which a file has every one of the `expected` names
/// ("module." of DataParallel), or "" if there is none.
std::string common_prefix(const std::vector<std::string>& expected, const std::map<std::string, Array>& weights) {
  if (weights.empty() || expected.empty()) return "";
  const std::string& first = weights.begin()->first;
  for (size_t end = first.find('.'); end != std::string::npos; end = first.find('.', end + 1)) {
    const std::string prefix = first.substr(0, end + 1);
    const bool has_all =
        std::ranges::all_of(expected, [&](const std::string& name) { return weights.contains(prefix + name); });
    if (has_all) return prefix;
  }
  return "";
}

}  // namespace

bool is_weight(StateKind kind) { return kind == StateKind::parameter || kind == StateKind::statistic; }

Graph states_of(const Graph& graph) {
  Graph result{.name = graph.name};
  for (State state : graph.states) {
    result.values.push_back(graph.values[static_cast<size_t>(state.entry)]);
    state.entry = static_cast<ValueId>(result.values.size()) - 1;
    state.exit = -1;
    result.states.push_back(std::move(state));
  }
  return result;
}

void add_initial_states(States& states, const Graph& graph, uint64_t seed) {
  for (const State& state : graph.states) {
    const std::string& name = graph.name_of(state);
    if (states.contains(name)) continue;
    const auto owner = is_average(graph, state) ? states.find(state.owner) : states.end();
    if (owner != states.end() && owner->second.type() == graph.type(state.entry)) {
      states.emplace(name, Array(owner->second));
    } else {
      states.emplace(name, make_initial(state.init, graph.type(state.entry), random_key(seed, name)));
    }
  }
}

void fill_initial(const Graph& graph, uint64_t seed, const std::string& name, const Box& box, DType dtype, void* to) {
  const State& state = *graph.find_state(name);
  make_initial_part(state.init, dtype, box, random_key(seed, is_average(graph, state) ? state.owner : name), to);
}

void require_types(const States& states, const Graph& graph) {
  for (const State& state : graph.states) {
    const std::string& name = graph.name_of(state);
    const auto found = states.find(name);
    if (found == states.end() || found->second.type() == graph.type(state.entry)) continue;
    throw InvalidArgument(ErrorKind::type, "[assign] the value of '{}' does not fit, got {}, expected {}", name,
                          print(found->second.type()), print(graph.type(state.entry)));
  }
}

std::vector<std::string> weight_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const State& state : graph.states) {
    if (is_weight(state.kind)) names.push_back(graph.name_of(state));
  }
  return names;
}

void check_finite(const States& states, const std::vector<std::string>& names) {
  for (const std::string& name : names) check_finite(name, states.at(name));
}

void check_finite(const std::string& name, const Array& values, const std::string& box) {
  const int64_t element = find_non_finite(values);
  if (element < 0) return;
  throw RuntimeFailure(
      ExitCode::non_finite,
      "[train] '{}' is not finite after the last update, got {} at element {} of {}{}, expected a number", name,
      values.at(element), element, print(values.type()), box.empty() ? "" : " at " + box);
}

Array fitted(const Array& given, const Type& type, const std::string& name, const std::string& path) {
  if (given.shape() != type.shape || is_float(given.type().dtype) != is_float(type.dtype)) {
    throw InvalidFile("[load] {}: tensor '{}' does not fit, got {}, expected {}", path, name, print(given.type()),
                      print(type));
  }
  return cast(given, type.dtype);
}

void take_weights(States& states, const Graph& graph, const std::map<std::string, Array>& weights,
                  const std::string& path) {
  States taken = states;
  const std::vector<std::string> expected = weight_names(graph);
  for (const State& state : graph.states) {
    if (!is_weight(state.kind)) continue;
    const std::string& name = graph.name_of(state);
    const auto found = weights.find(name);
    if (found == weights.end()) {
      if (is_adapter(name)) continue;  // begins with its initial values
      if (const std::string prefix = common_prefix(expected, weights); !prefix.empty()) {
        throw InvalidFile(
            "[load] {}: names of tensors begin with '{}', got '{}{}', expected '{}': save them without it, as "
            "{{name.removeprefix('{}'): tensor}}",
            path, prefix, prefix, name, name, prefix);
      }
      throw InvalidFile("[load] {}: no tensor for '{}', got {} others, expected {}", path, name, weights.size(),
                        print(graph.type(state.entry)));
    }
    taken[name] = fitted(found->second, graph.type(state.entry), name, path);
  }
  for (const auto& [name, array] : weights) {
    if (is_checkpoint(weights)) break;  // optimizer states and counters are in the file too
    if (std::ranges::find(expected, name) != expected.end()) continue;
    if (is_batch_counter(name, array.type())) continue;
    throw InvalidFile("[load] {}: tensor '{}' is not of this network{}", path, name, did_you_mean(name, expected));
  }
  for (const State& state : graph.states) {
    if (!is_average(graph, state)) continue;
    const auto owner = taken.find(state.owner);  // an addition may have no value yet
    if (owner != taken.end()) taken[graph.name_of(state)] = owner->second;
  }
  states = std::move(taken);
}

}  // namespace partita

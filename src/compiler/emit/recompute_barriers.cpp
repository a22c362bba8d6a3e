#include "compiler/emit/recompute_barriers.h"

#include <algorithm>

namespace partita {

std::vector<Hlo> emit_barrier(HloBody& body, const std::vector<Hlo>& values) {
  std::string names, texts;
  std::vector<Type> types;
  for (const Hlo& value : values) {
    names += (names.empty() ? "" : ", ") + value.name;
    texts += (texts.empty() ? "" : ", ") + hlo_type(value.type);
    types.push_back(value.type);
  }
  return body.add_several(fmt::format("stablehlo.optimization_barrier {} : {}", names, texts), types);
}

std::string_view RecomputeBarriers::group_of(size_t i) const {
  const Instruction& instruction = schedule_.instructions[i];
  if (instruction.kind != Instruction::compute) return "";
  const Node& node = local_.graph.nodes[instruction.node];
  return node.phase == Phase::backward ? std::string_view(node.recompute) : "";
}

bool RecomputeBarriers::is_gradient(size_t i) const {
  const Instruction& instruction = schedule_.instructions[i];
  if (instruction.kind != Instruction::compute) return false;
  const Node& node = local_.graph.nodes[instruction.node];
  return node.phase == Phase::backward && node.recompute.empty();
}

/// Returns the values that instruction `i` and later ones of its group take from outside of it, as far as they are
/// there and did not go through a barrier yet.
std::vector<Hlo> RecomputeBarriers::operands_from(size_t i, const Group& group,
                                                  const std::unordered_map<int, Hlo>& values) const {
  std::vector<Hlo> found;
  std::set<std::string> names;
  for (size_t j = i; j < segment_.end; ++j) {
    if (group_of(j) != group_of(i)) continue;
    for (const int buffer : schedule_.instructions[j].inputs) {
      const auto value = values.find(places_[buffer]);
      if (value == values.end()) continue;
      const std::string& name = value->second.name;
      if (group.made.contains(name) || group.passed.contains(name) || !names.insert(name).second) continue;
      found.push_back(value->second);
    }
  }
  return found;
}

/// Returns a gradient that the first user of the group of instruction `i` takes, else the one made last; null if there
/// is none.
const Hlo* RecomputeBarriers::gradient_for(size_t i, const std::unordered_map<int, Hlo>& values) const {
  std::set<int> written;
  for (size_t j = i; j < segment_.end; ++j) {
    const Instruction& instruction = schedule_.instructions[j];
    if (group_of(j) == group_of(i)) {
      for (const int buffer : instruction.outputs) written.insert(places_[buffer]);
      continue;
    }
    if (!is_gradient(j)) continue;
    const bool uses =
        std::ranges::any_of(instruction.inputs, [&](int buffer) { return written.contains(places_[buffer]); });
    if (!uses) continue;
    for (const int buffer : instruction.inputs) {
      const auto value = values.find(places_[buffer]);
      if (value == values.end()) continue;
      if (const auto known = gradients_.find(value->second.name); known != gradients_.end()) return &known->second;
    }
    break;
  }
  const auto last = gradients_.find(last_gradient_);
  return last == gradients_.end() ? nullptr : &last->second;
}

std::vector<Hlo> RecomputeBarriers::guarded(size_t i, const std::vector<Hlo>& inputs,
                                            const std::unordered_map<int, Hlo>& values, HloBody& body) {
  const std::string_view name = group_of(i);
  if (name.empty() || inputs.empty()) return inputs;
  Group& group = groups_[std::string(name)];
  const auto is_inside = [&](const Hlo& one) {
    return group.made.contains(one.name) || group.passed.contains(one.name);
  };
  if (!std::ranges::all_of(inputs, is_inside)) {
    const std::vector<Hlo> operands = operands_from(i, group, values);
    std::vector<Hlo> passing = operands;
    if (const Hlo* gradient = gradient_for(i, values); gradient != nullptr) passing.push_back(*gradient);
    const std::vector<Hlo> results = emit_barrier(body, passing);
    for (size_t k = 0; k < operands.size(); ++k) group.passed.emplace(operands[k].name, results[k]);
  }
  std::vector<Hlo> guarded;
  for (const Hlo& one : inputs) {
    const auto passed = group.passed.find(one.name);
    guarded.push_back(passed == group.passed.end() ? one : passed->second);
  }
  return guarded;
}

void RecomputeBarriers::declare(size_t i, const std::vector<Hlo>& results) {
  if (const std::string_view name = group_of(i); !name.empty()) {
    for (const Hlo& one : results) groups_[std::string(name)].made.insert(one.name);
    return;
  }
  if (!is_gradient(i) || schedule_.instructions[i].inputs.empty()) return;
  for (const Hlo& one : results) gradients_.emplace(one.name, one);
  if (!results.empty()) last_gradient_ = results[0].name;
}

void RecomputeBarriers::declare_same(const Hlo& value, const Hlo& now) {
  for (auto& [name, group] : groups_) {
    if (group.made.contains(value.name)) group.made.insert(now.name);
  }
  if (gradients_.contains(value.name)) gradients_.emplace(now.name, now);
}

}  // namespace partita

#include "compiler/partition/sharded_graph.h"

#include "ir/graph/print.h"
#include "ir/sharding/micro.h"
#include "ir/sharding/propagate.h"

namespace partita {

std::string print(const ShardedGraph& sharded, const Rules& rules, const std::function<std::string(NodeId)>& note) {
  const auto note_of = [&](NodeId node) {
    const Cut& cut = sharded.cuts[node];
    return is_cut(cut) ? "cut " + print(cut, rules[node], sharded.mesh) : note(node);
  };
  return print(
      sharded.graph,
      {.mesh = sharded.mesh.ranks() > 1 || sharded.mesh.micro_axis() >= 0 ? print(sharded.mesh) : "",
       .sections = sharded.is_stage() ? std::string(name_of(sharded.sections)) : "",
       .type = [&](ValueId value) { return print(sharded.graph.type(value), sharded.shardings[value], sharded.mesh); },
       .note = note_of});
}

void verify_cut(const ShardedGraph& sharded, NodeId id, const Rules& rules) {
  const Node& node = sharded.graph.nodes[id];
  const ShardingRule& rule = rules[id];
  const Cut& cut = sharded.cuts[id];
  PARTITA_CHECK(!needs_expansion(rule, cut), "{} is cut along a factor that only its expansion can cut", node.name);
  std::vector<Sharding> operands;
  for (ValueId input : node.inputs) operands.push_back(sharded.shardings[input]);
  const Sharding passed = propagate_partial(rule, cut, operands);
  for (size_t i = 0; i < operands.size(); ++i) {
    const Sharding required = operand_sharding(rule, cut, static_cast<int>(i));
    PARTITA_CHECK(operands[i].dims == required.dims && operands[i].halos == required.halos,
                  "{}: operand {} does not lie as the cut needs it", node.name, i);
    PARTITA_CHECK(operands[i].partial.empty() || !passed.partial.empty(), "{}: operand {} is partial and not reduced",
                  node.name, i);
  }
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    PARTITA_CHECK(sharded.shardings[node.outputs[k]] == result_sharding(rule, cut, passed, static_cast<int>(k)),
                  "{}: result {} is not sharded as the cut leaves it", node.name, k);
  }
}

namespace {

/// Checks that micro-batches are equal slices, and that states and outputs hold all of them, except for outputs to
/// other stages. Throws InternalError otherwise.
void verify_micro_batches(const ShardedGraph& sharded) {
  const int axis = sharded.mesh.micro_axis();
  if (axis < 0) return;
  for (size_t v = 0; v < sharded.graph.values.size(); ++v) {
    const int dim = micro_sharding(sharded.shardings[v], sharded.mesh).dim;
    if (dim < 0) continue;
    const auto& [type, name, producer, output] = sharded.graph.values[v];
    PARTITA_CHECK(sharded.shardings[v].dims[dim].front() == axis, "%{} is cut into micro-batches after ranks", name);
    PARTITA_CHECK(type.shape[dim] % sharded.mesh.micro_batches() == 0,
                  "%{} of {} does not divide into {} micro-batches", name, print(type), sharded.mesh.micro_batches());
  }
  const auto check_whole = [&](ValueId value) {
    PARTITA_CHECK(micro_sharding(sharded.shardings[value], sharded.mesh).whole(),
                  "%{} is of one micro-batch, not of all", sharded.graph.values[value].name);
  };
  for (const State& state : sharded.graph.states) check_whole(state.entry);
  for (const Output& output : sharded.graph.outputs) {
    if (output.to_stages.empty()) check_whole(output.value);
  }
}

}  // namespace

void verify_ends(const ShardedGraph& sharded) {
  PARTITA_CHECK(
      sharded.shardings.size() == sharded.graph.values.size() && sharded.cuts.size() == sharded.graph.nodes.size(),
      "a sharded graph without shardings");
  for (const State& state : sharded.graph.states) {
    if (state.exit < 0) continue;
    PARTITA_CHECK(sharded.shardings[state.exit] == sharded.shardings[state.entry], "state {} changes its sharding",
                  sharded.graph.values[state.entry].name);
  }
  std::vector<bool> is_read(sharded.graph.values.size(), false);
  for (const Node& node : sharded.graph.nodes) {
    for (ValueId input : node.inputs) is_read[input] = true;
  }
  for (size_t v = 0; v < is_read.size(); ++v) {
    if (sharded.shardings[v].halos.empty()) continue;
    const ValueInfo& value = sharded.graph.values[v];
    PARTITA_CHECK(value.producer >= 0, "%{} enters with halos", value.name);
    // The node that reads it checks the halo itself: its cut determines it.
    PARTITA_CHECK(is_read[v], "%{} has halos that no node reads", value.name);
  }
  for (const Output& output : sharded.graph.outputs) {
    PARTITA_CHECK(sharded.shardings[output.value].halos.empty(), "output {} has halos", output.name);
    PARTITA_CHECK(sharded.shardings[output.value].partial.empty(), "output {} is partial", output.name);
  }
  verify_micro_batches(sharded);
}

}  // namespace partita

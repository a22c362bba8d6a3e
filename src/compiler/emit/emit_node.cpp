#include "compiler/emit/emit_node.h"

#include "ir/graph/builder.h"
#include "ir/ops/pointwise.h"

namespace partita {
namespace {

/// Writes the nodes of an expansion, which is built from the node's types.
std::vector<Hlo> emit_expansion(HloBody& body, const OpSet& ops, const OpDef& op, const Attrs& attrs,
                                const std::vector<Hlo>& inputs, const std::vector<Type>& outputs) {
  Builder builder(ops, op.name);
  std::vector<Value> operands;
  for (size_t i = 0; i < inputs.size(); ++i) operands.push_back(builder.input(fmt::format("x{}", i), inputs[i].type));
  const std::vector<Value> results = op.expand({{builder, attrs, operands}, outputs});
  const Graph& graph = builder.graph();
  std::vector<Hlo> values(graph.values.size());
  for (size_t i = 0; i < inputs.size(); ++i) values[operands[i].id()] = inputs[i];
  for (const Node& node : graph.nodes) {
    std::vector<Hlo> given;
    for (const ValueId input : node.inputs) given.push_back(values[input]);
    const std::vector<Hlo> made = emit_node(body, ops, ops.at(node.op), node.attrs, given, graph.types(node.outputs));
    for (size_t k = 0; k < made.size(); ++k) values[node.outputs[k]] = made[k];
  }
  std::vector<Hlo> found;
  for (const Value& result : results) found.push_back(values[result.id()]);
  return found;
}

}  // namespace

std::vector<Hlo> emit_node(HloBody& body, const OpSet& ops, const OpDef& op, const Attrs& attrs,
                           const std::vector<Hlo>& inputs, const std::vector<Type>& outputs) {
  return emit_node(ops, op, {body, attrs, inputs, outputs});
}

std::vector<Hlo> emit_node(const OpSet& ops, const OpDef& op, const EmitCall& call) {
  if (op.emit) return op.emit(call);
  if (op.pointwise) {
    if (const Pointwise loops = op.pointwise(call.attrs); loops.traced) return emission_of(loops)(call);
  }
  if (op.expand) return emit_expansion(call.body, ops, op, call.attrs, call.inputs, call.outputs);
  throw InvalidArgument(
      "[emit] an op that cannot be written as StableHLO, got {}, expected one that has an emission, a formula or an "
      "expansion",
      op.name);
}

std::string module_text(std::string_view name, const std::string& parameters, const std::vector<Hlo>& results,
                        const HloBody& body) {
  std::string names, types;
  for (const Hlo& result : results) {
    names += (names.empty() ? " " : ", ") + result.name;
    types += (types.empty() ? "" : ", ") + hlo_type(result.type);
  }
  return fmt::format("module @{} {{\n  func.func public @main({}) -> ({}) {{\n{}    return{}{}\n  }}\n}}\n", name,
                     parameters, types, body.text(), names, results.empty() ? "" : " : " + types);
}

std::string module_of(std::string_view name, const std::vector<Type>& inputs, const EmitFn& emit) {
  HloBody body;
  std::vector<Hlo> arguments;
  std::string parameters;
  for (size_t i = 0; i < inputs.size(); ++i) {
    arguments.push_back({fmt::format("%arg{}", i), inputs[i]});
    parameters += fmt::format("{}%arg{}: {}", i == 0 ? "" : ", ", i, hlo_type(inputs[i]));
  }
  const std::vector<Hlo> results = emit(body, arguments);
  return module_text(name, parameters, results, body);
}

std::string module_of_node(const OpSet& ops, const OpDef& op, const Attrs& attrs, const std::vector<Type>& inputs,
                           const std::vector<Type>& outputs) {
  return module_of(op.name, inputs, [&](HloBody& body, const std::vector<Hlo>& arguments) {
    return emit_node(body, ops, op, attrs, arguments, outputs);
  });
}

}  // namespace partita

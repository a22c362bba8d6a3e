#pragma once
// Nodes as StableHLO.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/op_def.h"

namespace partita {

/// Writes one node on a shard and returns its results: by the op's `emit`, else by its formula, else by its expansion.
/// Throws InvalidArgument if the op has none of these.
std::vector<Hlo> emit_node(const OpSet& ops, const OpDef& op, const EmitCall& call);
/// Writes it into `body`. `inputs` and `outputs` are local. Throws as the other overload does.
std::vector<Hlo> emit_node(HloBody& body, const OpSet& ops, const OpDef& op, const Attrs& attrs,
                           const std::vector<Hlo>& inputs, const std::vector<Type>& outputs);

/// Returns the module `name` with one function, "main", that returns `results` of `body`. `parameters` is the text of
/// its operands.
std::string module_text(std::string_view name, const std::string& parameters, const std::vector<Hlo>& results,
                        const HloBody& body);

/// Writes operations on arguments and returns their results.
using EmitFn = std::function<std::vector<Hlo>(HloBody&, const std::vector<Hlo>& arguments)>;
/// Returns the module `name` whose function "main" takes operands of types `inputs` and returns what `emit` returns.
std::string module_of(std::string_view name, const std::vector<Type>& inputs, const EmitFn& emit);
/// Returns such a module of one node. Throws as `emit_node` does.
std::string module_of_node(const OpSet& ops, const OpDef& op, const Attrs& attrs, const std::vector<Type>& inputs,
                           const std::vector<Type>& outputs);

}  // namespace partita

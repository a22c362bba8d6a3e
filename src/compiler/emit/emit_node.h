#pragma once
// Nodes as StableHLO.

#include "ir/graph/op_def.h"

namespace partita {

/// Writes one node on a shard into `body` and returns its results: by the op's `emit`, else by its formula, else by its
/// expansion. `inputs` and `outputs` are local. Throws InvalidArgument if the op has none of these.
std::vector<Hlo> emit_node(HloBody& body, const OpSet& ops, const OpDef& op, const Attrs& attrs,
                           const std::vector<Hlo>& inputs, const std::vector<Type>& outputs);

/// Returns the module `name` with one function, "main", that returns `results` of `body`. `parameters` is the text of
/// its operands.
std::string module_text(std::string_view name, const std::string& parameters, const std::vector<Hlo>& results,
                        const HloBody& body);

/// Returns a module whose function "main" takes operands of types `inputs` and returns the results of one node. Throws
/// as `emit_node` does.
std::string module_of_node(const OpSet& ops, const OpDef& op, const Attrs& attrs, const std::vector<Type>& inputs,
                           const std::vector<Type>& outputs);

}  // namespace partita

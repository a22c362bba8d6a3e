#pragma once
// The parts of a graph's text that need no other line: types, what a state is, the line of a node. Every failure names
// the line.

#include "base/scanner.h"
#include "ir/graph/op_def.h"

namespace partita {

struct TypeText {
  Type type;
  std::string text;  // as written, with what a sharding adds
};

/// "%x"
std::string read_value_name(Scanner& text);

/// "3", below kMaxStages.
int read_stage(Scanner& text);

/// "f32[2,3]", in a local graph "f32[2{data},3] +sum{model}".
TypeText read_type(Scanner& text);

/// "parameter normal(0,1) frozen layerwise=0": all that stands behind the type of a state.
State read_state(Scanner& text, const Type& type);

/// A node whose operands and results are still names.
struct NodeLine {
  int line = 0;
  Node node;
  std::vector<std::string> inputs, outputs;
  std::vector<TypeText> types;  // none, or one for each result
  std::string cut;              // the text of the property, in a local graph
};

/// "%y = op(%x) {attributes} : f32[2,3] ; properties". That the attributes fit the types is not checked.
NodeLine read_node(Scanner& text, const OpSet& ops);

}  // namespace partita

#pragma once
// Parsers for those parts of a graph's text that need no other line: types, states and node lines. Errors name the
// line. All functions throw InvalidArgument for other texts.

#include "base/scanner.h"
#include "ir/graph/op_def.h"

namespace partita {

/// A type and its text.
struct TypeText {
  Type type;
  std::string text;  // text in the file, with the sharding
};

/// Reads a value's name, "%x", and returns it without the sign. Throws InvalidArgument for other texts.
std::string read_value_name(Scanner& text);

/// Reads a pipeline stage, such as "3", below kMaxStages. Throws InvalidArgument for other texts.
int read_stage(Scanner& text);

/// Reads a type: "f32[2,3]", or in a local graph "f32[2{data},3] +sum{model}", whose sharding stays text and is not
/// checked. Throws InvalidArgument for other texts.
TypeText read_type(Scanner& text);

/// Reads what follows the type of a state: "parameter normal(0,1) frozen layerwise=0". Throws InvalidArgument for other
/// texts.
State read_state(Scanner& text, const Type& type);

/// A parsed node whose operands and results are still names.
struct NodeLine {
  int line = 0;
  Node node;
  std::vector<std::string> inputs, outputs;
  std::vector<TypeText> types;  // empty, or one per result
  std::string cut;              // text of the `cut` property, in a local graph
};

/// Reads "%y = op(%x) {attributes} : f32[2,3] ; properties". Does not check that the attributes fit the types. Throws
/// InvalidArgument for other texts and for an unknown op.
NodeLine read_node(Scanner& text, const OpSet& ops);

}  // namespace partita

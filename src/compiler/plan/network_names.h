#pragma once
// Names of nodes that are the same in every graph of a network, whatever its batch and its ranks.

#include "ir/graph/graph.h"

namespace partita {

/// Returns the name of each node: its scope and op, "net/fc1/matmul", and "net/fc1/matmul#2" for the second with the
/// same scope and op. Gradient nodes are counted separately. Recomputed nodes and those of the update have the name "".
std::vector<std::string> network_names(const Graph& graph);

/// Whether `name` matches a pattern such as "net/h/0..5/attn/q/matmul". Each part between slashes consists of
/// characters, with '*' for any, or is a range of numbers; both must have the same number of parts.
bool matches_names(std::string_view pattern, std::string_view name);
/// Whether the pattern contains neither '*' nor "..".
bool is_single_name(std::string_view pattern);

/// A name and the text that belongs to it.
struct NamedText {
  std::string names, text;
};
/// Merges lines with equal texts whose names differ in one number, if the numbers are consecutive, into one line with a
/// range. Merges the last part of the names first; keeps the order of the first line of each range.
std::vector<NamedText> collapsed(const std::vector<NamedText>& lines);

}  // namespace partita

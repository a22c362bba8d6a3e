#pragma once
// What nodes are called in every graph of a network, whatever its batch and its ranks.

#include "ir/graph/graph.h"

namespace partita {

/// Per node where it stands and its op, "net/fc1/matmul", and of those that are alike the second as "net/fc1/matmul#2".
/// Gradient nodes are counted by themselves; "" for recomputed nodes and those of the update.
std::vector<std::string> network_names(const Graph& graph);

/// "net/h/0..5/attn/q/matmul": part by part letters, in which '*' stands for any, or a range of numbers.
bool matches_names(std::string_view pattern, std::string_view name);
/// Whether it names one alone.
bool is_single_name(std::string_view pattern);

/// A name, and what is said of it.
struct NamedText {
  std::string names, text;
};
/// Lines of equal texts whose names differ in one number, one behind the other, as one line with a range, part by part;
/// in the order of the first of each.
std::vector<NamedText> collapsed(const std::vector<NamedText>& lines);

/// What a network consists of, beside its types: names, sizes and who uses what.
struct NetworkFingerprint {
  uint64_t digest = 0;
  int64_t nodes = 0, parameters = 0;  // of the forward; elements
  bool operator==(const NetworkFingerprint&) const = default;
};
NetworkFingerprint fingerprint_of_network(const Graph& forward);

/// In what a forward graph differs from the one that a plan is for: nodes that only one of them has, or else sizes of
/// inputs and values. "" for none.
std::string network_difference(const Graph& got, const Graph& expected);

}  // namespace partita

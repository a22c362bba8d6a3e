#pragma once
// Identifies a network, so that a plan made for another one is noticed.

#include <cstdint>
#include <string>

namespace partita {

struct Graph;

/// Identifies a network, apart from element types: a digest of names, sizes and connections.
struct NetworkFingerprint {
  uint64_t digest = 0;
  int64_t nodes = 0, parameters = 0;  // forward nodes; elements of all parameters
  bool operator==(const NetworkFingerprint&) const = default;
};
NetworkFingerprint fingerprint_of_network(const Graph& forward);

/// Describes how the forward graph `got` differs from `expected`, the one that a plan was made for: inputs, states and
/// nodes that only one of them has, and different sizes, up to 3 names of each. "" if they do not differ in these;
/// connections are not compared.
std::string network_difference(const Graph& got, const Graph& expected);

}  // namespace partita

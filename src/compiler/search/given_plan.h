#pragma once
// A plan that the user gives, with cuts by the names that all graphs of a network share.

#include <optional>
#include <string>
#include <vector>

#include "base/names.h"
#include "compiler/plan/network_fingerprint.h"
#include "compiler/search/search_kind.h"
#include "ir/sharding/mesh.h"

namespace partita {

enum class NamedKind { input, state, node, gradient, result, gradient_result };
constexpr auto value_names(NamedKind) {
  return names("input", "state", "node", "gradient", "result", "gradient_result");
}

/// One line of a plan file.
/// node, gradient: "net/h/0..5/attn/q/matmul", "A={data} j={tensor}": axes of the factors of forward or backward nodes.
/// input, state: "%tokens", "[64,128] {data} {}": its sizes and the axes of its dimensions.
/// result, gradient_result: as for input, of the result of a node. The index of the result comes first unless it is 0.
struct NamedLine {
  NamedKind kind = NamedKind::node;
  std::string names, text;
  int line = 0;  // line number in the file
};

struct NamedCuts {
  std::string file;  // for messages: "[FILE:7] .."
  Mesh mesh;         // mesh of the ranks of a group of stages
  std::vector<NamedLine> lines;
  std::optional<Search> others{};  // the search that cuts forward nodes not named in a line; none: they are not cut
};

/// A plan that was given for a network, instead of one that the planner makes.
struct GivenPlan {
  std::string file;             // for messages
  int line = 0;                 // line of the description of the network
  std::string description{};    // a line for people
  std::string configuration{};  // in the form that planner/pricing/layers/configuration.h prints
  std::optional<NetworkFingerprint> network{};
  std::optional<NamedCuts> cuts{};  // none: they follow from the rest of the configuration
};

}  // namespace partita

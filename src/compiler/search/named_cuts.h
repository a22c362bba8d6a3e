#pragma once
// Cuts of nodes by the names that all graphs of a network share, as in plan files: people can write them, and every
// graph of the network can take them.

#include "base/names.h"
#include "compiler/plan/complete_plan.h"
#include "compiler/plan/network_names.h"
#include "compiler/search/search_kind.h"

namespace partita {

enum class NamedKind { input, state, node, gradient, result, gradient_result };
template <>
inline constexpr auto kNames<NamedKind> = names("input", "state", "node", "gradient", "result", "gradient_result");

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
  std::string configuration{};  // in the form that planner/pricing/configuration.h prints
  std::optional<NetworkFingerprint> network{};
  std::optional<NamedCuts> cuts{};  // none: they follow from the rest of the configuration
};

/// Returns the lines of a plan, without those that follow from the others. `others` of the result is none.
NamedCuts name_cuts(const Plan& plan, const Graph& graph, const Rules& rules);

/// Returns the decisions of the lines for a graph of the network, for `complete_plan`. Throws InvalidArgument
/// "[FILE:LINE] .." for a name that does not exist (with the nearest), a node that two lines name, other sizes, or an
/// illegal cut.
/// `any_purpose`: for a graph with another batch, or of an evaluation. Lines for what it does not have, or cannot cut
/// that way, are then skipped.
PartialPlan partial_plan_of(const NamedCuts& named, const Graph& graph, const Rules& rules, bool any_purpose = false);

/// Returns the completed plan; the search `named.others` decides the rest. Throws InvalidArgument as `partial_plan_of`
/// does.
Plan plan_of(const NamedCuts& named, const Graph& graph, const OpSet& ops, bool any_purpose = false);

/// Returns the cuts without one axis of the mesh, for the ranks that differ only in the others.
NamedCuts without_axis(NamedCuts named, std::string_view axis);

}  // namespace partita

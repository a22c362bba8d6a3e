#pragma once
// Cuts by the names that every graph of a network has, so that people can write them and every graph of the network can
// take them: what a plan file says of nodes.

#include "base/names.h"
#include "compiler/plan/complete_plan.h"
#include "compiler/plan/network_names.h"
#include "compiler/search/search_kind.h"

namespace partita {

enum class NamedKind { input, state, node, gradient, result, gradient_result };
template <>
inline constexpr auto kNames<NamedKind> = names("input", "state", "node", "gradient", "result", "gradient_result");

/// One line. node and gradient: "net/h/0..5/attn/q/matmul", "A={data} j={tensor}", the factors of a forward node or of
/// one of the backward. input and state: "%tokens", "[64,128] {data} {}", its sizes and the axes of its dimensions;
/// result: the same of what a node makes, with the number of the result in front where it is not the first.
struct NamedLine {
  NamedKind kind = NamedKind::node;
  std::string names, text;
  int line = 0;  // of the file
};

struct NamedCuts {
  std::string file;  // in messages: "[FILE:7] .."
  Mesh mesh;         // of the ranks of a group of stages
  std::vector<NamedLine> lines;
  std::optional<Search> others{};  // how forward nodes are cut that no line names; none: not at all
};

/// A plan that was given for a network, instead of one that is made.
struct GivenPlan {
  std::string file;             // in messages
  int line = 0;                 // of what it says of the network
  std::string description{};    // a line for people
  std::string configuration{};  // as planner/pricing/configuration.h prints it
  std::optional<NetworkFingerprint> network{};
  std::optional<NamedCuts> cuts{};  // none: as the rest of a configuration says
};

/// What a plan says, as far as it does not follow from the rest of it; `names.others` is none.
NamedCuts name_cuts(const Plan& plan, const Graph& graph, const Rules& rules);

/// The decisions for a graph of the network, to be completed. Throws InvalidArgument "[FILE:LINE] .." for a name that
/// is not there (with the nearest), a node that two lines name, other sizes, an illegal cut. With `any_purpose`, for
/// graphs of other rows or for an evaluation, what the graph does not have, or cannot cut so, is left out.
PartialPlan partial_plan_of(const NamedCuts& named, const Graph& graph, const Rules& rules, bool any_purpose = false);

/// The same completed, the rest by the search.
Plan plan_of(const NamedCuts& named, const Graph& graph, const OpSet& ops, bool any_purpose = false);

/// Without one of the axes of the mesh: on the ranks that differ in the others.
NamedCuts without_axis(NamedCuts named, std::string_view axis);

}  // namespace partita

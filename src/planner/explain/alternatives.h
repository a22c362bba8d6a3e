#pragma once
// The costs of the alternative cuts of one op.

#include "compiler/search/search_cuts.h"
#include "planner/pricing/step/price.h"

namespace partita {

/// All that it refers to must outlive its use.
struct AlternativesRequest {
  const Graph& training;
  const OpSet& ops;
  const Mesh& mesh;
  const PartialPlan& plan;  // decisions for the whole graph; the node has a cut
  const Cluster& cluster;
  const Precision& precision;
  double gradient_part = 1;  // share of the time of parameters' gradient sums that counts
  bool free = false;         // whether each alternative may cut the other nodes anew
  size_t most = 12;          // number of alternatives that get an explanation
};

struct CutAlternative {
  std::string cut;         // "A={data} j={tensor}"; "" for not cut
  double seconds = 0;      // seconds of a micro-batch, all nodes together
  bool is_chosen = false;  // whether the plan has this cut
  std::string why{};       // computation and communication in which it differs from the chosen cut
};

/// Returns the cuts of a forward node that a search compares, cheapest first. The chosen one is among them unless it
/// cuts axes apart that the search assigns as one (`search_cuts`). The first `request.most`, except the chosen one,
/// have a reason (`why`). Throws InvalidArgument if the cluster has fewer ranks than the mesh.
std::vector<CutAlternative> alternatives_of(const AlternativesRequest& request, size_t node);

/// Formats the first `most` alternatives, and the chosen one if it comes later, as a table, and counts the others.
/// `name` is the name of the node.
std::string print(const std::vector<CutAlternative>& all, const std::string& name, size_t most);

}  // namespace partita

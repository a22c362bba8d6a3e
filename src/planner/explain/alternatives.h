#pragma once
// What other cuts of one op would cost.

#include "compiler/search/search_cuts.h"
#include "planner/pricing/price.h"

namespace partita {

struct AlternativesRequest {
  const Graph& training;
  const OpSet& ops;
  const Mesh& mesh;
  const PartialPlan& plan;  // what is decided of the whole graph
  const Cluster& cluster;
  const Precision& precision;
  double gradient_part = 1;  // of the time of sums of parameters' gradients that counts
  bool free = false;         // the other nodes may be cut anew for each alternative
  size_t most = 12;          // of which it is said why
};

struct CutAlternative {
  std::string cut;         // "A={data} j={tensor}"; "" for none
  double seconds = 0;      // of a micro-batch: all nodes
  bool is_chosen = false;  // by the plan
  std::string why{};       // what it costs more or less than the chosen one
};

/// All cuts of a forward node that a search compares, the cheapest first, with the chosen one among them.
std::vector<CutAlternative> alternatives_of(const AlternativesRequest& request, size_t node);

/// A table for people; `name` is that of the node.
std::string print(const std::vector<CutAlternative>& all, const std::string& name, size_t most);

}  // namespace partita

#pragma once
// The flags that say how a model is split.

#include <CLI/CLI.hpp>

#include "compile.h"
#include "graph/mark_nodes.h"

namespace partita {

struct PlanFlags {
  std::string parallel;  // "": as the recipe says when there are several ranks
  std::string search = "propagation", dataset = "data_parallel", uneven = "allow";
  std::vector<std::string> shard;
};

void add_plan_flags(CLI::App& command, PlanFlags& flags);

/// The options and marks that the flags ask for; throws InvalidArgument.
PlanOptions plan_options(const PlanFlags& flags, int64_t ranks, const std::string& recipe);
std::vector<NodeMark> node_marks(const PlanFlags& flags);

}  // namespace partita

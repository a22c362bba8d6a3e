#pragma once
// A plan as a self-contained HTML page.

#include "planner/explain/alternatives.h"
#include "planner/explain/layer_table.h"
#include "planner/pricing/search/print_price.h"
#include "planner/pricing/step/simulate_step.h"

namespace partita {

/// Another plan for the same network and cluster, shown for comparison.
struct PageOther {
  std::string name;
  Configuration configuration;
  double seconds = 0;
  double memory = 0;  // peak bytes of a device
  bool fits = true;
};

/// A group of ranks that communicate, and the slowest links between them.
struct PageGroup {
  std::string name;  // "tensor"
  int64_t ranks = 1;
  std::string level;     // level of its slowest links
  double bandwidth = 0;  // bytes/s of one of these links
};

struct PageOp {
  std::string name;
  std::vector<CutAlternative> alternatives;
};

struct PageContents {
  const PricedPlan& plan;
  const Cluster& cluster;
  double memory = 0;  // bytes for tensors on each device
  std::vector<LayerRow> layers;
  std::vector<std::pair<std::string, std::string>> cuts;  // names of nodes (ranges for repeated layers) and their cuts
  LayerStep step;                                         // with spans and memory
  std::vector<PageOther> others;
  std::vector<PageGroup> groups;
  std::vector<PageOp> ops;
  std::string text;  // text of the plan file
};

/// Formats a well-formed HTML page without external references; all texts are escaped. The tables of other plans and of
/// ops are left out if they are empty.
std::string html_page(const PageContents& contents);

}  // namespace partita

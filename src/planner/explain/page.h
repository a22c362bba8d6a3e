#pragma once
// A plan as one HTML file that needs nothing else: for people to look at.

#include "planner/explain/alternatives.h"
#include "planner/explain/layer_table.h"
#include "planner/pricing/print_price.h"
#include "planner/pricing/simulate_step.h"

namespace partita {

/// Another plan for the same, or what it would take.
struct PageOther {
  std::string name;
  Configuration configuration;
  double seconds = 0;
  double memory = 0;  // bytes of a device
  bool fits = true;
};

/// A group of ranks that communicate, and where it lies.
struct PageGroup {
  std::string name;  // "tensor"
  int64_t ranks = 1;
  std::string level;     // of the links that it needs, the slowest
  double bandwidth = 0;  // bytes/s of one of these
};

struct PageOp {
  std::string name;
  std::vector<CutAlternative> alternatives;
};

struct PageContents {
  const PricedPlan& plan;
  const Cluster& cluster;
  double memory = 0;  // bytes of each device
  std::vector<LayerRow> layers;
  std::vector<std::pair<std::string, std::string>> cuts;  // of nodes by name, those of repeated layers as ranges
  LayerStep step;                                         // with spans and memory
  std::vector<PageOther> others;
  std::vector<PageGroup> groups;
  std::vector<PageOp> ops;
  std::string text;  // the plan file
};

/// Well-formed, with no reference to anything outside of it; all texts are escaped.
std::string html_page(const PageContents& contents);

/// "&lt;" for "<", and so on.
std::string escaped_html(std::string_view text);

}  // namespace partita

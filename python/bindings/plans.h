#pragma once

#include "explain/layer_table.h"
#include "network/network.h"
#include "planning/print_price.h"
#include "planning/search_configurations.h"

namespace partita::python {

/// What is to be planned.
struct PlanQuestion {
  std::string cluster = "cpu", pins{}, search = "exact";
  int64_t ranks = 0;  // the part of the cluster; 0: all of it
  bool tf32 = true;   // whether products of f32 may be TF32, where devices have that
};

/// The best configuration of a network on a cluster, priced; of what takes least memory where nothing fits.
class FoundPlan {
 public:
  FoundPlan(const Network& network, const JobConfig& config, const std::vector<Column>& columns,
            const PlanQuestion& question);

  bool fits() const { return fits_; }
  double memory() const { return memory_; }  // bytes of a device
  const PricedPlan& priced() const { return plan_; }
  std::string text() const { return print(plan_); }
  std::string layers();
  std::string page();

 private:
  std::vector<LayerRow> layer_rows();

  const Cluster cluster_;
  const Precision precision_;
  const JobConfig config_;
  const Search search_;
  const Graph forward_;
  NetworkCosts costs_;
  bool fits_ = true;
  double memory_ = 0;
  PricedPlan plan_;
};

}  // namespace partita::python

#pragma once
// Prices a saved plan, including what was edited in its file.

#include "planner/planner.h"

namespace partita {

class SavedPlan {
 public:
  /// Reads a plan file and compares its cuts with those of its configuration. `cluster` replaces the one of the file
  /// unless it is "". Throws InvalidArgument if the file is malformed, has no line for model or cluster, names an
  /// unknown one, belongs to another network, has cuts that a training would refuse, or has cuts and a configuration
  /// that cannot be priced. Throws MissingFile if the file cannot be read, and MissingFile or InvalidFile for the file
  /// of a cluster or a graph, or a launcher's rank table. Throws ThreadFailures.
  explicit SavedPlan(const std::string& path, const std::string& cluster = "");

  const PlanFile& file() const { return file_; }
  /// Prices the plan, under the cuts of the file where these can be priced (see `warning`), else under those of its
  /// configuration. Throws InvalidArgument if the network cannot be lowered so or the order of the pipeline is too
  /// long. Where memory is measured (`NetworkPlanner::priced`), also throws InvalidArgument, MissingFile or InvalidFile
  /// for a launcher's variables and rank table, and ThreadFailures.
  PlannedJob job() const;
  /// Returns a description of the edited cuts, "8 nodes are cut differently from the configuration, net/h/0/mlp/gelu
  /// first"; "" if there are none.
  std::string edits() const;
  /// Returns a warning about the first edit that the price does not include: cuts over `data`, layers of a stage, or
  /// layers that are recomputed; "" if there is none. Throws as `job` does.
  std::string warning() const;

 private:
  void compare_cuts(const NamedCuts& configured);

  PlanFile file_;
  std::shared_ptr<NetworkPlanner> planner_, edited_;  // prices its configuration; its cuts, or null
  size_t edited_nodes_ = 0, unpriced_nodes_ = 0;      // unpriced: with another share of the ranks of `data`
  std::string first_edited_, first_unpriced_;
};

/// The differences of two saved plans.
struct PlanDifferences {
  std::string text;                     // a line for each difference, then step and memory of both
  std::vector<std::string> warnings{};  // about edits that a price does not include
};
/// Compares two saved plans, their predicted steps and their memory. Cuts are compared only if both are for the same
/// network. Throws as `SavedPlan::job` does.
PlanDifferences diff(const SavedPlan& first, const SavedPlan& second);

}  // namespace partita

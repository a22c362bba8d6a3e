#pragma once
// A plan that was saved, priced: as it is, also where it was edited.

#include "planner/planner.h"

namespace partita {

class SavedPlan {
 public:
  /// Reads it. `cluster`: instead of its own, "" for that. Throws InvalidArgument when it does not say what it is for,
  /// or the network has changed since.
  explicit SavedPlan(const std::string& path, const std::string& cluster = "");

  const PlanFile& file() const { return file_; }
  /// Under its cuts, with their price.
  PlannedJob job() const;
  /// "8 nodes are cut otherwise than the configuration does, net/h/0/mlp/gelu first"; "" for none.
  std::string edits() const;
  /// Of what was edited and is not in the price; "" for nothing.
  std::string warning() const;

 private:
  void compare_cuts(const NamedCuts& configured);

  PlanFile file_;
  std::shared_ptr<NetworkPlanner> planner_, edited_;  // of its configuration, of its cuts
  size_t edited_nodes_ = 0, unpriced_nodes_ = 0;      // unpriced: in what the ranks of `data` do
  std::string first_edited_, first_unpriced_;
};

/// How two saved plans differ.
struct PlanDifferences {
  std::string text;                     // a line for each difference, then step and memory of both
  std::vector<std::string> warnings{};  // of what was edited and is not in a price
};
PlanDifferences diff(const SavedPlan& first, const SavedPlan& second);

}  // namespace partita

#pragma once
// A plan that was saved, priced: as it is, also where it was edited.

#include "cli/planner.h"

namespace partita {

class SavedPlan {
 public:
  /// Reads it. `cluster`: instead of its own, "" for that. Throws InvalidArgument when it does not say what it is for,
  /// or the network has changed since.
  explicit SavedPlan(const std::string& path, const std::string& cluster = "");

  const PlanFile& file() const { return file_; }
  /// Of its configuration.
  Planner& planner() { return *planner_; }
  /// Of its cuts.
  Planner& own() { return edited_ ? *edited_ : *planner_; }
  PricedPlan priced() { return own().priced(file_.configuration); }
  /// "8 nodes are cut otherwise than the configuration does, net/h/0/mlp/gelu first"; "" for none.
  std::string edits() const;
  /// Of what was edited and is not in the price; "" for nothing.
  std::string warning();

 private:
  void compare_cuts(const NamedCuts& configured);

  PlanFile file_;
  std::unique_ptr<Planner> planner_, edited_;
  size_t edited_nodes_ = 0, unpriced_nodes_ = 0;  // unpriced: in what the ranks of `data` do
  std::string first_edited_, first_unpriced_;
};

}  // namespace partita

#pragma once
// Costs of moving values from one sharding to another, with shardings and types as ids.

#include <memory>
#include <unordered_map>

#include "compiler/search/plan_costs.h"
#include "compiler/search/reshard_states.h"
#include "ir/sharding/reshard.h"

namespace partita {

using ShardingId = int;
using TypeId = int;

class ReshardCosts {
 public:
  /// The mesh must outlive this object.
  ReshardCosts(const Mesh& mesh, const LinkCosts& links) : mesh_(mesh), links_(links), resharder_(mesh, links) {}
  /// Uses `gradient_links` for the reduction of parameters' gradients.
  ReshardCosts(const Mesh& mesh, const LinkCosts& links, const LinkCosts& gradient_links);

  TypeId type(const Type& type);
  /// Returns the id of a sharding, which must have no halos. Throws InternalError otherwise.
  ShardingId id(const Sharding& sharding);
  const Sharding& sharding(ShardingId id) const { return *shardings_[id]; }

  /// Returns the cost of the cheapest way to reshard a value of this type; infinite if there is none, since a reduced
  /// sum cannot become partial again.
  double between(TypeId type, ShardingId from, ShardingId to);
  /// Returns the cost of the cheapest way to reshard a parameter's gradient of this type; infinite if there is none.
  /// Requires the constructor with gradient links.
  double of_gradient(TypeId type, ShardingId from, ShardingId to);
  /// Returns the cost between a node and a user of its result: a partial sum is passed on unchanged, or reduced.
  /// Infinite for a user that needs another partial sum.
  double passed(TypeId type, ShardingId from, ShardingId to);

 private:
  struct CachedCosts {
    Type type;
    const ReshardStates* states = nullptr;  // null: too many to list
    std::vector<std::vector<double>>
        costs;  // by (source state, axes) and target state, or by two shardings; NaN: not yet known
  };
  const ReshardStates* states_of(size_t dims);
  double find(const Type& type, const Sharding& from, const Sharding& to);

  const Mesh& mesh_;
  const LinkCosts links_;
  Resharder resharder_;
  std::unique_ptr<ReshardCosts> gradients_;                            // with its own ids; null without gradient links
  std::unordered_map<size_t, std::unique_ptr<ReshardStates>> states_;  // by number of dimensions
  std::vector<int> state_of_;                                          // per sharding; -1: not listed
  std::unordered_map<std::string, TypeId> type_ids_;
  std::vector<CachedCosts> types_;
  std::unordered_map<std::string, ShardingId> ids_;
  std::vector<std::unique_ptr<Sharding>> shardings_;
};

}  // namespace partita

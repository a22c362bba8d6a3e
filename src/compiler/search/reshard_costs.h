#pragma once
// What it costs to bring values from one sharding to another, with shardings and types as numbers.

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
  /// The mesh outlives this.
  ReshardCosts(const Mesh& mesh, const LinkCosts& links) : mesh_(mesh), links_(links), resharder_(mesh, links) {}
  /// With links of their own for sums of parameters' gradients.
  ReshardCosts(const Mesh& mesh, const LinkCosts& links, const LinkCosts& gradient_links);

  TypeId type(const Type& type);
  /// Of a sharding without halos.
  ShardingId id(const Sharding& sharding);
  const Sharding& sharding(ShardingId id) const { return *shardings_[id]; }

  /// Of the cheapest way; infinite where there is none: a sum that is there cannot become partial again.
  double between(TypeId type, ShardingId from, ShardingId to);
  /// The same of a parameter's gradient.
  double of_gradient(TypeId type, ShardingId from, ShardingId to);
  /// The same between a node and one that uses what it makes: a partial sum is passed on as it is, or reduced.
  double passed(TypeId type, ShardingId from, ShardingId to);

 private:
  struct Known {
    Type type;
    const ReshardStates* states = nullptr;  // null: too many to list
    std::vector<std::vector<double>>
        costs;  // by a state with axes and a state, or by two shardings; NaN: not known yet
  };
  const ReshardStates* states_of(size_t dims);
  double find(const Type& type, const Sharding& from, const Sharding& to);

  const Mesh& mesh_;
  const LinkCosts links_;
  Resharder resharder_;
  std::unique_ptr<ReshardCosts> gradients_;                            // with types and shardings of its own
  std::unordered_map<size_t, std::unique_ptr<ReshardStates>> states_;  // by dimensions
  std::vector<int> state_of_;                                          // per sharding; -1: not listed
  std::unordered_map<std::string, TypeId> type_ids_;
  std::vector<Known> types_;
  std::unordered_map<std::string, ShardingId> ids_;
  std::vector<std::unique_ptr<Sharding>> shardings_;
};

}  // namespace partita

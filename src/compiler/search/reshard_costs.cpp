#include "compiler/search/reshard_costs.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace partita {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kImpossible = std::numeric_limits<double>::infinity();

std::string key_of_sharding(const Sharding& sharding) {
  std::string key;
  for (const Axes& axes : sharding.dims) {
    for (int axis : axes) key += static_cast<char>(axis + 1);
    key += '\0';
  }
  key += static_cast<char>(sharding.kind);
  for (int axis : sharding.partial) key += static_cast<char>(axis + 1);
  return key;
}

}  // namespace

ReshardCosts::ReshardCosts(const Mesh& mesh, const LinkCosts& links, const LinkCosts& gradient_links)
    : ReshardCosts(mesh, links) {
  gradients_ = std::make_unique<ReshardCosts>(mesh, gradient_links);
}

double ReshardCosts::of_gradient(TypeId type, ShardingId from, ShardingId to) {
  return gradients_->between(gradients_->type(types_[type].type), gradients_->id(sharding(from)),
                             gradients_->id(sharding(to)));
}

const ReshardStates* ReshardCosts::states_of(size_t dims) {
  if (!ReshardStates::can_list(mesh_, dims)) return nullptr;
  std::unique_ptr<ReshardStates>& states = states_[dims];
  if (!states) states = std::make_unique<ReshardStates>(mesh_, links_, dims);
  return states.get();
}

TypeId ReshardCosts::type(const Type& type) {
  std::string key(1, static_cast<char>(type.dtype));
  key.append(reinterpret_cast<const char*>(type.shape.data()), type.shape.size() * sizeof(int64_t));
  const auto [entry, fresh] = type_ids_.try_emplace(std::move(key), static_cast<TypeId>(types_.size()));
  if (fresh) types_.push_back({type, states_of(type.shape.size()), {}});
  return entry->second;
}

ShardingId ReshardCosts::id(const Sharding& sharding) {
  PARTITA_CHECK(sharding.halos.empty(), "a search compares no halos");
  const auto [entry, fresh] = ids_.try_emplace(key_of_sharding(sharding), static_cast<ShardingId>(shardings_.size()));
  if (fresh) {
    shardings_.push_back(std::make_unique<Sharding>(sharding));
    const ReshardStates* states = states_of(sharding.dims.size());
    state_of_.push_back(states ? states->state(sharding) : -1);
  }
  return entry->second;
}

double ReshardCosts::between(TypeId type, ShardingId from, ShardingId to) {
  if (from == to) return 0;
  CachedCosts& cached = types_[type];
  if (cached.states == nullptr) {
    cached.costs.resize(std::max(cached.costs.size(), shardings_.size()));
    std::vector<double>& row = cached.costs[from];
    if (row.size() <= static_cast<size_t>(to)) row.resize(shardings_.size(), kUnknown);
    if (std::isnan(row[to])) row[to] = find(cached.type, *shardings_[from], *shardings_[to]);
    return row[to];
  }
  const Sharding &source = *shardings_[from], &target = *shardings_[to];
  if (!target.partial.empty() && source.kind != target.kind) return kImpossible;
  const uint32_t axes = cached.states->axes_of(state_of_[from]) | cached.states->axes_of(state_of_[to]);
  const size_t row = static_cast<size_t>(state_of_[from]) << mesh_.rank_axes() | axes;
  if (cached.costs.size() <= row) cached.costs.resize(row + 1);
  if (cached.costs[row].empty()) cached.costs[row] = cached.states->costs_from(state_of_[from], axes, cached.type);
  return cached.costs[row][static_cast<size_t>(state_of_[to])];
}

double ReshardCosts::passed(TypeId type, ShardingId from, ShardingId to) {
  if (from == to) return 0;
  return shardings_[to]->partial.empty() ? between(type, from, to) : kImpossible;
}

double ReshardCosts::find(const Type& type, const Sharding& from, const Sharding& to) {
  if (!std::includes(from.partial.begin(), from.partial.end(), to.partial.begin(), to.partial.end()))
    return kImpossible;
  if (!to.partial.empty() && from.kind != to.kind) return kImpossible;
  return resharder_.path(type, from, to).cost;
}

}  // namespace partita

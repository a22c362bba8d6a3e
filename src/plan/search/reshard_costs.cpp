#include "plan/search/reshard_costs.h"

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

TypeId ReshardCosts::type(const Type& type) {
  std::string key(1, static_cast<char>(type.dtype));
  key.append(reinterpret_cast<const char*>(type.shape.data()), type.shape.size() * sizeof(int64_t));
  const auto [entry, fresh] = type_ids_.try_emplace(std::move(key), static_cast<TypeId>(types_.size()));
  if (fresh) types_.push_back({type, {}});
  return entry->second;
}

ShardingId ReshardCosts::id(const Sharding& sharding) {
  PARTITA_CHECK(sharding.halos.empty(), "a search compares no halos");
  const auto [entry, fresh] = ids_.try_emplace(key_of_sharding(sharding), static_cast<ShardingId>(shardings_.size()));
  if (fresh) shardings_.push_back(std::make_unique<Sharding>(sharding));
  return entry->second;
}

double ReshardCosts::between(TypeId type, ShardingId from, ShardingId to) {
  if (from == to) return 0;
  std::vector<std::vector<double>>& costs = types_[type].costs;
  const size_t row = static_cast<size_t>(from), column = static_cast<size_t>(to);
  if (costs.size() <= row) costs.resize(shardings_.size());
  if (costs[row].size() <= column) costs[row].resize(shardings_.size(), kUnknown);
  double& cost = costs[row][column];
  if (std::isnan(cost)) cost = find(types_[type].type, *shardings_[from], *shardings_[to]);
  return cost;
}

double ReshardCosts::find(const Type& type, const Sharding& from, const Sharding& to) {
  if (!std::includes(from.partial.begin(), from.partial.end(), to.partial.begin(), to.partial.end()))
    return kImpossible;
  if (!to.partial.empty() && from.kind != to.kind) return kImpossible;
  return resharder_.path(type, from, to).cost;
}

}  // namespace partita

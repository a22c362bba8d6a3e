#include "compiler/partition/materialisations.h"

#include <algorithm>
#include <limits>

namespace partita {

Materialisations::Materialisations(ReshardedGraph& result, UsedNames names)
    : result_(result),
      names_(std::move(names)),
      rank_mesh_(result.mesh.with_micro_batches(1)),
      resharder_(rank_mesh_) {}

ValueId Materialisations::add_value(const std::string& name, const Type& type, NodeId producer, int output,
                                    Sharding sharding) {
  const ValueId id = static_cast<ValueId>(result_.graph.values.size());
  result_.graph.values.push_back({type, name, producer, output});
  result_.shardings.push_back(std::move(sharding));
  is_late_.push_back(false);
  return id;
}

ValueId Materialisations::latest(ValueId value, bool joined) {
  const ValueId made = joined ? join_micro_batches(value) : value;
  const MicroSharding micro = micro_of(made);
  for (ValueId version : versions_[value]) {
    const Sharding& sharding = result_.shardings[version];
    if (micro_of(version) != micro || !sharding.halos.empty()) continue;
    if (within_micro_batch(sharding, mesh()).partial.empty()) return version;
  }
  return made;
}

MicroSharding Materialisations::micro_of(ValueId value) const {
  return micro_sharding(result_.shardings[value], mesh());
}

ValueId Materialisations::join_micro_batches(ValueId value) {
  const MicroSharding micro = micro_of(value);
  if (micro.whole()) return value;
  std::vector<ValueId>& there = versions_[value];
  if (there.empty()) there.push_back(value);
  for (ValueId version : there) {
    if (micro_of(version).whole()) return version;
  }
  ValueId from = value;
  Sharding joined = within_micro_batch(result_.shardings[value], mesh());
  if (micro.dim >= 0) {  // slices are contiguous on a rank only if it holds all rows of each
    joined = {.dims = joined.dims};
    joined.dims[micro.dim].clear();
    from = reshard_to(value, over_micro_batches(joined, micro, mesh()), "forward");
  }
  const ValueId whole = add_reshard(from, joined, "forward");
  is_late_[whole] = true;
  versions_[value].push_back(whole);
  return whole;
}

ValueId Materialisations::reshard_to(ValueId value, const Sharding& wanted, const std::string& reason) {
  if (!wanted.halos.empty()) return with_halos(value, wanted, reason);
  const Sharding target = wanted;  // a copy: adding a reshard reallocates the shardings that `wanted` may refer to
  const MicroSharding micro = micro_sharding(target, mesh());
  if (micro != micro_of(value)) {
    if (!micro.whole()) return slice_micro_batch(value, target, micro.dim, reason);
    join_micro_batches(value);
  }
  Type type = result_.graph.type(value);
  if (micro.dim >= 0) type.shape[micro.dim] /= mesh().micro_batches();
  std::vector<ValueId>& there = versions_[value];
  if (there.empty()) there.push_back(value);
  ValueId nearest = -1;
  double least = std::numeric_limits<double>::infinity();
  for (ValueId version : there) {
    const Sharding& now = result_.shardings[version];
    if (now == target) return version;
    if (!now.halos.empty() || micro_of(version) != micro) continue;
    if (!std::includes(now.partial.begin(), now.partial.end(), target.partial.begin(), target.partial.end())) continue;
    const double cost = path(type, now, target).cost;
    if (cost < least) {
      least = cost;
      nearest = version;
    }
  }
  PARTITA_CHECK(nearest >= 0, "no way to {}", print(type, target, mesh()));
  const std::vector<Move> moves = path(type, result_.shardings[nearest], target).moves;
  for (const Move& move : moves) {
    nearest = add_reshard(nearest, over_micro_batches(move.result, micro, mesh()), reason);
    versions_[value].push_back(nearest);
  }
  return nearest;
}

/// Returns the cheapest moves from one sharding to another within a micro-batch, and their cost, which is infinite if
/// none lead there. How micro-batches cut or share the value is ignored.
const Resharder::Path& Materialisations::path(const Type& type, const Sharding& from, const Sharding& to) {
  return resharder_.path(type, within_micro_batch(from, mesh()), within_micro_batch(to, mesh()));
}

/// Returns the rows of one micro-batch of a whole value, in sharding `wanted`, which cuts `dim` over micro-batches.
/// Adds reshards unless it already exists so. Throws InternalError if `wanted` is partial or cuts no dimension so.
ValueId Materialisations::slice_micro_batch(ValueId value, const Sharding& wanted, int dim, const std::string& reason) {
  const Sharding target = wanted;
  PARTITA_CHECK(dim >= 0 && target.partial.empty(), "{} is to be cut into micro-batches",
                result_.graph.values[value].name);
  Sharding whole = target;
  whole.dims[dim].clear();
  return made_from(value, whole, target, reason);
}

/// Returns the value in sharding `wanted`, with the rows of its neighbours added to each shard. Adds reshards unless it
/// already exists so.
ValueId Materialisations::with_halos(ValueId value, const Sharding& wanted, const std::string& reason) {
  const Sharding target = wanted;
  Sharding stored = target;
  stored.halos.clear();
  for (size_t d = 0; d < target.dims.size(); ++d) {
    if (!target.halos[d]) continue;
    // If there are fewer rows than parts, every rank holds all of them and keeps those that it needs.
    if (mesh().ways(target.dims[d]) > result_.graph.type(value).shape[d]) stored.dims[d].clear();
  }
  return made_from(value, stored, target, reason);
}

ValueId Materialisations::made_from(ValueId value, const Sharding& source, const Sharding& target,
                                    const std::string& reason) {
  for (ValueId version : versions_[value]) {
    if (result_.shardings[version] == target) return version;
  }
  const ValueId from = reshard_to(value, source, reason);
  const ValueId made = add_reshard(from, target, reason);
  versions_[value].push_back(made);
  return made;
}

ValueId Materialisations::add_reshard(ValueId value, const Sharding& result, const std::string& reason) {
  const ValueInfo source = result_.graph.values[value];
  Node node{.op = kReshard, .attrs = Attrs(ReshardAttrs{reason}), .inputs = {value}};
  const std::string name = names_.make(source.name, kReshard);
  node.name = name;
  if (source.producer >= 0) {
    const Node& producer = result_.graph.nodes[source.producer];
    node.scope = producer.scope;
    node.source = producer.source;
    node.phase = producer.phase;
  }
  const NodeId id = static_cast<NodeId>(result_.graph.nodes.size());
  node.outputs = {add_value(name, source.type, id, 0, result)};
  is_late_[node.outputs[0]] = is_late_[value] && micro_sharding(result, mesh()).whole();
  result_.graph.nodes.push_back(node);
  result_.cuts.emplace_back();
  return node.outputs[0];
}

}  // namespace partita

#pragma once
// Values of a graph with reshards: each as its node makes it, and in the other shardings in which it is used.

#include <map>

#include "compiler/partition/resharded_graph.h"
#include "compiler/partition/used_names.h"
#include "ir/sharding/micro.h"
#include "ir/sharding/reshard.h"

namespace partita {

/// Adds values and reshards to a graph whose mesh is set. All value ids are those of that graph. The graph must outlive
/// this object.
class Materialisations {
 public:
  Materialisations(ReshardedGraph& result, UsedNames names);

  ValueId add_value(const std::string& name, const Type& type, NodeId producer, int output, Sharding sharding);

  /// Returns the value as it was made or, if another node already needed it reduced, the reduced version, so that no
  /// value is kept partial twice. `joined`: of the value over all micro-batches, for which it adds the node that makes
  /// it if there is none yet.
  ValueId latest(ValueId made, bool joined = false);
  /// Returns the value in sharding `wanted`. Adds reshards from the nearest sharding in which it exists, with the
  /// attribute `reason`, or none if it already exists in that one. Throws InternalError if no moves lead there.
  ValueId reshard_to(ValueId value, const Sharding& wanted, const std::string& reason);
  /// Forgets the other shardings of an entry value, so that its next user gathers it again.
  void release(ValueId entry) { versions_.erase(entry); }

  /// Whether a value is complete only after all micro-batches.
  bool is_late(ValueId value) const { return is_late_[value]; }
  void set_late(ValueId value, bool late) { is_late_[value] = late; }

 private:
  /// Returns the value over all micro-batches, and adds the node that makes it if there is none yet. A value that is
  /// partial over micro-batches is summed. One that they cut is concatenated along the cut dimension, which is then
  /// whole on every rank. A value that is neither is returned itself. The added value is late (`is_late`).
  ValueId join_micro_batches(ValueId value);
  MicroSharding micro_of(ValueId value) const;
  ValueId with_halos(ValueId value, const Sharding& wanted, const std::string& reason);
  ValueId slice_micro_batch(ValueId value, const Sharding& wanted, int dim, const std::string& reason);
  /// Returns the value in sharding `target`, made by one reshard from `source` unless it already exists so.
  ValueId made_from(ValueId value, const Sharding& source, const Sharding& target, const std::string& reason);
  ValueId add_reshard(ValueId value, const Sharding& sharding, const std::string& reason);
  const Resharder::Path& path(const Type& type, const Sharding& from, const Sharding& to);
  const Mesh& mesh() const { return result_.mesh; }

  ReshardedGraph& result_;
  UsedNames names_;
  std::map<ValueId, std::vector<ValueId>> versions_;  // per value as made: itself and its other shardings
  std::vector<bool> is_late_;                         // per value
  const Mesh rank_mesh_;                              // mesh without micro-batches
  Resharder resharder_;
};

}  // namespace partita

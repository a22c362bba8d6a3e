#pragma once
// The values of a graph with reshards: each as its node makes it, and in the other shardings in which it is used.

#include <map>

#include "compiler/partition/resharded_graph.h"
#include "compiler/partition/used_names.h"
#include "ir/sharding/micro.h"
#include "ir/sharding/reshard.h"

namespace partita {

/// Grows a graph whose mesh is set. Values are those of that graph.
class Materialisations {
 public:
  Materialisations(ReshardedGraph& result, UsedNames names);

  ValueId add_value(const std::string& name, const Type& type, NodeId producer, int output, Sharding sharding);

  /// The value as it was made, or reduced when another node needed that: a value is not kept partial twice. `joined`:
  /// of all micro-batches.
  ValueId latest(ValueId made, bool joined = false);
  /// The value in another sharding, from whichever of the shardings that it is there in already is the nearest.
  ValueId reshard_to(ValueId value, const Sharding& wanted, const std::string& reason);
  /// What an entry was gathered to is not used any more: its next user gathers it again.
  void release(ValueId entry) { versions_.erase(entry); }

  /// Whether a value is there only when all micro-batches have made their part of it.
  bool is_late(ValueId value) const { return is_late_[value]; }
  void set_late(ValueId value, bool late) { is_late_[value] = late; }

 private:
  /// The value of all micro-batches, added up or one behind the other.
  ValueId join_micro_batches(ValueId value);
  MicroSharding micro_of(ValueId value) const;
  ValueId with_halos(ValueId value, const Sharding& wanted, const std::string& reason);
  ValueId slice_micro_batch(ValueId value, const Sharding& wanted, int dim, const std::string& reason);
  ValueId add_reshard(ValueId value, const Sharding& sharding, const std::string& reason);
  const Resharder::Path& path(const Type& type, const Sharding& from, const Sharding& to);
  const Mesh& mesh() const { return result_.mesh; }

  ReshardedGraph& result_;
  UsedNames names_;
  std::map<ValueId, std::vector<ValueId>> versions_;  // of each value as made: itself in other shardings
  std::vector<bool> is_late_;                         // per value
  const Mesh rank_mesh_;                              // without micro-batches
  Resharder resharder_;
};

}  // namespace partita

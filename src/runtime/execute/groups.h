#pragma once
// The communicators of a rank, one per set of mesh axes over which its schedule reduces or gathers.

#include <map>

#include "compiler/partition/local_graph.h"
#include "runtime/comm/communicator.h"

namespace partita {

class Groups {
 public:
  Groups(const Mesh& mesh, Communicator& world) : mesh_(mesh), world_(world) {}
  /// Creates this rank's communicator over `axes`, unless it exists. A collective call over the world: all ranks add
  /// the same axes in the same order. Throws RankFailures.
  void add(const Axes& axes);
  /// The communicator over `axes`. Throws std::out_of_range unless it was added.
  Communicator& at(const Axes& axes) const { return *groups_.at(axes); }
  const std::map<Axes, std::unique_ptr<Communicator>>& all() const { return groups_; }

 private:
  const Mesh& mesh_;
  Communicator& world_;
  std::map<Axes, std::unique_ptr<Communicator>> groups_;
};

}  // namespace partita

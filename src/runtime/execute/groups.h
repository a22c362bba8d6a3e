#pragma once
// The communicators of a rank, one per set of mesh axes that its schedule reduces or gathers over.

#include <map>

#include "compiler/partition/local_graph.h"
#include "runtime/comm/communicator.h"

namespace partita {

class Groups {
 public:
  Groups(const Mesh& mesh, Communicator& world) : mesh_(mesh), world_(world) {}
  /// Makes the group of this rank over `axes`; collective over the world, in one order on all ranks.
  void add(const Axes& axes);
  Communicator& at(const Axes& axes) const { return *groups_.at(axes); }
  const std::map<Axes, std::unique_ptr<Communicator>>& all() const { return groups_; }

 private:
  const Mesh& mesh_;
  Communicator& world_;
  std::map<Axes, std::unique_ptr<Communicator>> groups_;
};

}  // namespace partita

#pragma once
// Groups of ranks that a program makes and calls by name.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/comm/communicator.h"

namespace partita {

/// Every rank of the world makes and destroys the same groups in the same order, whether it is in them or not; all
/// ranks then know who is in which. "world" is there from the beginning.
class NamedGroups {
 public:
  static constexpr const char* kWorld = "world";

  explicit NamedGroups(Communicator& world);

  /// Makes the group of these ranks of the world, in this order. Collective over the world. A name that stands for the
  /// same ranks already is kept; throws InvalidArgument for one that stands for others, and for a list that is empty,
  /// repeats a rank or leaves the world.
  void create(const std::string& name, std::span<const int> ranks, Timeout timeout = kDefaultTimeout);
  /// Throws InvalidArgument for "world" and unknown names.
  void destroy(const std::string& name);

  // All below throw InvalidArgument for an unknown name, naming the nearest.
  /// Throws InvalidArgument on a rank that is not in the group, too.
  Communicator& at(const std::string& name) const;
  bool contains(const std::string& name, int world_rank) const;
  const std::vector<int>& ranks(const std::string& name) const;
  int size(const std::string& name) const { return static_cast<int>(ranks(name).size()); }
  /// The rank in the world of a rank of the group, and back; throw InvalidArgument when there is none.
  int world_rank(const std::string& name, int group_rank) const;
  int group_rank(const std::string& name, int world_rank) const;

 private:
  struct Group {
    std::vector<int> ranks;
    std::unique_ptr<Communicator> own;  // nullptr on ranks that are not in it
  };
  const Group& find(const std::string& name) const;

  Communicator& world_;
  std::map<std::string, Group> groups_;
};

}  // namespace partita

#pragma once
// Groups of ranks that a program creates and uses by name.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/comm/communicator.h"

namespace partita {

/// Every rank of the world creates and destroys the same groups in the same order, also those without it. So all ranks
/// know the members of each group. The group "world" always exists.
class NamedGroups {
 public:
  static constexpr const char* kWorld = "world";

  explicit NamedGroups(Communicator& world);

  /// Creates the group of these world ranks, in this order. A collective call over the world. Does nothing if the name
  /// already stands for the same ranks in the same order. Throws InvalidArgument if it stands for others, and if the
  /// list is empty, repeats a rank or has one outside the world; RankFailures.
  void create(const std::string& name, std::span<const int> ranks, Timeout timeout = kDefaultTimeout);
  /// Destroys a group on this rank. Throws InvalidArgument for "world" and unknown names.
  void destroy(const std::string& name);

  // All functions below throw InvalidArgument for an unknown name, suggesting the nearest.
  /// Returns the communicator of a group, valid until the group is destroyed. Throws InvalidArgument for an unknown
  /// name, and on a rank that is not in the group.
  Communicator& at(const std::string& name) const;
  bool contains(const std::string& name, int world_rank) const;
  const std::vector<int>& ranks(const std::string& name) const;
  int size(const std::string& name) const { return static_cast<int>(ranks(name).size()); }
  /// Convert a rank of the group to a rank of the world, and back. Throw InvalidArgument if there is no such rank or
  /// group.
  int world_rank(const std::string& name, int group_rank) const;
  int group_rank(const std::string& name, int world_rank) const;

 private:
  struct Group {
    std::vector<int> ranks;
    std::unique_ptr<Communicator> own;  // nullptr on ranks outside the group, and for "world"
  };
  const Group& find(const std::string& name) const;

  Communicator& world_;
  std::map<std::string, Group> groups_;
};

}  // namespace partita

#include "runtime/comm/named_groups.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace partita {
namespace {

void check_ranks(const std::string& name, std::span<const int> ranks, int size) {
  if (ranks.empty()) {
    throw InvalidArgument(fmt::format("[group] '{}' has no ranks, got an empty list, expected at least one", name));
  }
  for (size_t i = 0; i < ranks.size(); ++i) {
    const bool known = ranks[i] >= 0 && ranks[i] < size;
    const bool twice = std::find(ranks.begin(), ranks.begin() + static_cast<int64_t>(i), ranks[i]) !=
                       ranks.begin() + static_cast<int64_t>(i);
    if (known && !twice) continue;
    throw InvalidArgument(fmt::format("[group] bad ranks of '{}', got {}{}, expected different ones from 0 to {}", name,
                                      ranks[i], twice ? " twice" : "", size - 1));
  }
}

}  // namespace

NamedGroups::NamedGroups(Communicator& world) : world_(world) {
  std::vector<int> all(world.size());
  std::iota(all.begin(), all.end(), 0);
  groups_[kWorld].ranks = std::move(all);
}

void NamedGroups::create(const std::string& name, std::span<const int> ranks, Timeout timeout) {
  check_ranks(name, ranks, world_.size());
  std::vector<int> list(ranks.begin(), ranks.end());
  if (const auto known = groups_.find(name); known != groups_.end()) {
    if (known->second.ranks == list) return;
    throw InvalidArgument(fmt::format("[group] '{}' stands for other ranks, got ({}), expected ({}) or another name",
                                      name, fmt::join(list, ", "), fmt::join(known->second.ranks, ", ")));
  }
  const bool is_in = std::find(list.begin(), list.end(), world_.rank()) != list.end();
  // All ranks take part in a split; ranks outside the group form groups of one.
  auto own = world_.split(is_in ? list : std::vector<int>{world_.rank()}, timeout);
  if (!is_in) own = nullptr;
  groups_[name] = {std::move(list), std::move(own)};
}

void NamedGroups::destroy(const std::string& name) {
  if (name == kWorld) {
    throw InvalidArgument(
        fmt::format("[group] the world cannot be removed, got '{}', expected a group that was created", name));
  }
  find(name);
  groups_.erase(name);
}

const NamedGroups::Group& NamedGroups::find(const std::string& name) const {
  if (const auto found = groups_.find(name); found != groups_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, group] : groups_) names.push_back(known);
  throw unknown_name("[group] unknown group", name, fmt::format("one of {}", fmt::join(names, " ")), names);
}

Communicator& NamedGroups::at(const std::string& name) const {
  const Group& group = find(name);
  if (name == kWorld) return world_;
  if (group.own != nullptr) return *group.own;
  throw InvalidArgument(fmt::format("[group] a rank is not in '{}', got rank {}, expected one of {}", name,
                                    world_.rank(), fmt::join(group.ranks, ", ")));
}

bool NamedGroups::contains(const std::string& name, int world_rank) const {
  const std::vector<int>& members = ranks(name);
  return std::find(members.begin(), members.end(), world_rank) != members.end();
}

const std::vector<int>& NamedGroups::ranks(const std::string& name) const { return find(name).ranks; }

int NamedGroups::world_rank(const std::string& name, int group_rank) const {
  const std::vector<int>& members = ranks(name);
  if (group_rank >= 0 && group_rank < static_cast<int>(members.size())) return members[group_rank];
  throw InvalidArgument(
      fmt::format("[group] bad rank of '{}', got {}, expected 0 to {}", name, group_rank, members.size() - 1));
}

int NamedGroups::group_rank(const std::string& name, int world_rank) const {
  const std::vector<int>& members = ranks(name);
  const auto at = std::find(members.begin(), members.end(), world_rank);
  if (at != members.end()) return static_cast<int>(at - members.begin());
  throw InvalidArgument(fmt::format("[group] a rank is not in '{}', got rank {}, expected one of {}", name, world_rank,
                                    fmt::join(members, ", ")));
}

}  // namespace partita

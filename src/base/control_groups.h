#pragma once
// The control groups of Linux that limit this process.

#include <string>
#include <string_view>
#include <vector>

namespace partita {

/// Folders of control groups, from that of this process up to the root of the mount. A limit of any of them holds.
struct ControlGroups {
  std::vector<std::string> version_1;  // version 1: a hierarchy for each controller
  std::vector<std::string> version_2;  // version 2: one hierarchy for all
};

/// Returns the groups of this process for a controller, such as "cpu" or "memory", by /proc/self/cgroup and
/// /proc/self/mountinfo. Where these name none, such as without /proc, the folders are the usual ones under
/// /sys/fs/cgroup. Folders need not exist: a container may see only the part of the tree below its own group. `root`
/// is prepended to all paths, for tests.
ControlGroups control_groups(std::string_view controller, const std::string& root = "");

}  // namespace partita

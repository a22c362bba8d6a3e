#include "base/control_groups.h"

#include <algorithm>
#include <fstream>
#include <optional>

#include "base/plain_text.h"

namespace partita {
namespace {

constexpr std::string_view kVersion1 = "cgroup", kVersion2 = "cgroup2";  // types of file systems

bool lists(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    if (item == name) return true;
    list.remove_prefix(std::min(list.size(), item.size() + 1));
  }
  return false;
}

/// Returns the path of this process's group: that of the hierarchy with `controller`, or of version 2 if it is "".
/// nullopt if /proc/self/cgroup has none. Its lines are "4:cpu,cpuacct:/path" and, of version 2, "0::/path".
std::optional<std::string> group_path(std::string_view controller, const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    const bool is_searched =
        controller.empty() ? line.starts_with("0:") && controllers.empty() : lists(controllers, controller);
    if (is_searched) return line.substr(second + 1);
  }
  return std::nullopt;
}

/// Returns a field of mountinfo, in which "\040" stands for a space.
std::string unescaped(std::string_view field) {
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string text;
  for (size_t i = 0; i < field.size(); ++i) {
    const bool is_escape = field[i] == '\\' && i + 3 < field.size() && is_octal(field[i + 1]) &&
                           is_octal(field[i + 2]) && is_octal(field[i + 3]);
    if (!is_escape) {
      text += field[i];
      continue;
    }
    text += static_cast<char>((field[i + 1] - '0') * 64 + (field[i + 2] - '0') * 8 + (field[i + 3] - '0'));
    i += 3;
  }
  return text;
}

struct Mount {
  std::string root;   // group that is mounted
  std::string point;  // where it is mounted
};

/// Returns the mounts of the hierarchy with `controller`, or of version 2 if it is "". A line of mountinfo is
/// "36 35 98:0 ROOT POINT OPTIONS [OPTIONAL..] - TYPE SOURCE OPTIONS".
std::vector<Mount> mounts_of(std::string_view controller, const std::string& root) {
  std::vector<Mount> mounts;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t separator = line.find(" - ");
    if (separator == std::string::npos) continue;
    std::string_view fields = line, system = std::string_view(line).substr(separator + 3);
    for (int skipped = 0; skipped < 3; ++skipped) next_word(fields);
    Mount mount{.root = unescaped(next_word(fields)), .point = unescaped(next_word(fields))};
    const std::string_view type = next_word(system);
    next_word(system);  // the source
    const bool is_searched =
        controller.empty() ? type == kVersion2 : type == kVersion1 && lists(next_word(system), controller);
    if (is_searched) mounts.push_back(std::move(mount));
  }
  return mounts;
}

/// Returns the path of a group within a mount, "" or "/a/b". It is "" for a group that the mount does not show.
std::string path_within(const Mount& mount, const std::string& group) {
  const std::string above = mount.root == "/" ? "" : mount.root;
  const bool is_inside = group.starts_with(above + "/") && !group.starts_with("/..");
  const std::string path = is_inside ? group.substr(above.size()) : "";
  return path == "/" ? "" : path;
}

/// Returns the folders of a hierarchy, from the group of this process up to the root of each mount. `usual` are the
/// mount points if none is known.
std::vector<std::string> folders_of(std::string_view controller, const std::vector<std::string>& usual,
                                    const std::string& root) {
  std::vector<Mount> mounts = mounts_of(controller, root);
  if (mounts.empty()) {
    for (const std::string& point : usual) mounts.push_back({.root = "/", .point = point});
  }
  const std::string group = group_path(controller, root).value_or("/");
  std::vector<std::string> folders;
  for (const Mount& mount : mounts) {
    for (std::string path = path_within(mount, group);; path.resize(path.rfind('/'))) {
      folders.push_back(root + mount.point + path);
      if (path.empty()) break;
    }
  }
  return folders;
}

}  // namespace

ControlGroups control_groups(std::string_view controller, const std::string& root) {
  const std::string usual = "/sys/fs/cgroup";
  std::vector<std::string> usual_version_1{usual + "/" + std::string(controller)};
  if (controller == "cpu") usual_version_1.push_back(usual + "/cpu,cpuacct");
  return {.version_1 = folders_of(controller, usual_version_1, root), .version_2 = folders_of("", {usual}, root)};
}

}  // namespace partita

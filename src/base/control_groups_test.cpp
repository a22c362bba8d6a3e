#include "base/control_groups.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/free_memory.h"
#include "base/plain_text.h"
#include "base/system_files.h"
#include "base/usable_cores.h"
#include "frontend/data/readers/test_files.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

/// A tree of files that stands for / of another machine.
class Machine {
 public:
  void put(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(root() + path).parent_path());
    std::ofstream(root() + path) << text;
  }
  std::string root() const { return folder_.path().string(); }
  /// The folders without the root.
  std::vector<std::string> bare(std::vector<std::string> folders) const {
    for (std::string& folder : folders) folder.erase(0, root().size());
    return folders;
  }

 private:
  TempDir folder_;
};

using Folders = std::vector<std::string>;

TEST(ControlGroups, GoUpToTheRootOfTheMount) {
  const Machine machine;
  machine.put("/proc/self/cgroup", "3:cpu,cpuacct:/docker/ab\n2:memory:/other/one\n0::/user.slice/job\n");
  machine.put("/proc/self/mountinfo",
              "20 1 0:2 / /proc rw - proc proc rw\n"
              "30 1 0:5 /docker /sys/fs/cgroup/cpu,cpuacct ro,nosuid master:3 - cgroup cgroup rw,cpu,cpuacct\n"
              "31 1 0:6 /docker /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
              "32 1 0:7 / /mnt/my\\040groups rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
  const ControlGroups cpu = control_groups("cpu", machine.root()), memory = control_groups("memory", machine.root());
  EXPECT_EQ(machine.bare(cpu.version_1), (Folders{"/sys/fs/cgroup/cpu,cpuacct/ab", "/sys/fs/cgroup/cpu,cpuacct"}));
  EXPECT_EQ(machine.bare(memory.version_1), (Folders{"/sys/fs/cgroup/memory"}))
      << "a group that the mount does not show";
  const Folders version_2{"/mnt/my groups/user.slice/job", "/mnt/my groups/user.slice", "/mnt/my groups"};
  EXPECT_EQ(machine.bare(cpu.version_2), version_2);
  EXPECT_EQ(machine.bare(memory.version_2), version_2);
}

TEST(ControlGroups, AreTheUsualOnesWithoutFacts) {
  const Machine machine;
  const ControlGroups cpu = control_groups("cpu", machine.root());
  EXPECT_EQ(machine.bare(cpu.version_1), (Folders{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}));
  EXPECT_EQ(machine.bare(cpu.version_2), (Folders{"/sys/fs/cgroup"}));
  machine.put("/proc/self/cgroup", "0::/../../elsewhere\n");  // a group outside of the namespace
  EXPECT_EQ(machine.bare(control_groups("cpu", machine.root()).version_2), (Folders{"/sys/fs/cgroup"}));
}

/// A hierarchy in which some groups have a quota.
struct RandomTree {
  std::string group;    // path of this process's group
  size_t mounted = 0;   // levels of the path above the mount
  std::string mount;    // where it is mounted
  double smallest = 0;  // smallest quota that is visible, in cores; 0: none
};

RandomTree random_tree(const Machine& machine, bool is_version_2, std::mt19937& random) {
  const auto below = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  RandomTree tree;
  Folders levels{""};
  for (int i = below(5); i > 0; --i) levels.push_back(fmt::format("/g{}", below(100)));
  tree.mounted = static_cast<size_t>(below(static_cast<int>(levels.size())));
  tree.mount = is_version_2 ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup/cpu";
  std::string folder = tree.mount;
  for (size_t i = 0; i < levels.size(); ++i) {
    tree.group += levels[i];
    if (i < tree.mounted) continue;
    if (i > tree.mounted) folder += levels[i];
    const int period = 1000 * (1 + below(100)), quota = below(3) == 0 ? period * (1 + below(40)) / 7 : 0;
    if (is_version_2) {
      machine.put(folder + "/cpu.max", quota > 0 ? fmt::format("{} {}\n", quota, period) : "max 100000\n");
    } else {
      machine.put(folder + "/cpu.cfs_quota_us", fmt::format("{}\n", quota > 0 ? quota : -1));
      machine.put(folder + "/cpu.cfs_period_us", fmt::format("{}\n", period));
    }
    const double cores = static_cast<double>(quota) / period;
    if (quota > 0 && (tree.smallest == 0 || cores < tree.smallest)) tree.smallest = cores;
  }
  return tree;
}

std::string mount_root(const RandomTree& tree) {
  std::string root;
  size_t at = 0;
  for (size_t level = 0; level < tree.mounted; ++level) {
    const size_t end = std::min(tree.group.find('/', at + 1), tree.group.size());
    root += tree.group.substr(at, end - at);
    at = end;
  }
  return root.empty() ? "/" : root;
}

// The smallest quota of any visible group of either version counts, rounded up.
TEST(UsableCores, ObeyTheSmallestQuotaOfRandomTrees) {
  std::mt19937 random(5);
  int limited = 0;
  for (int i = 0; i < 300; ++i) {
    const Machine machine;
    const RandomTree version_1 = random_tree(machine, false, random), version_2 = random_tree(machine, true, random);
    const auto path = [](const RandomTree& tree) { return tree.group.empty() ? "/" : tree.group; };
    machine.put("/proc/self/cgroup", fmt::format("4:memory:/x\n1:cpu:{}\n0::{}\n", path(version_1), path(version_2)));
    machine.put("/proc/self/mountinfo",
                fmt::format("31 1 0:3 {} {} rw - cgroup cgroup rw,cpu\n"
                            "32 1 0:4 {} {} rw shared:1 - cgroup2 cgroup2 rw\n",
                            mount_root(version_1), version_1.mount, mount_root(version_2), version_2.mount));
    double expected = version_1.smallest == 0 ? version_2.smallest : version_1.smallest;
    if (version_2.smallest > 0) expected = std::min(expected, version_2.smallest);
    const UsableCores cores = usable_cores(machine.root());
    EXPECT_DOUBLE_EQ(cores.quota.value_or(0), expected) << i;
    if (expected == 0) {
      EXPECT_EQ(cores.own(), cores.affinity);
      continue;
    }
    ++limited;
    EXPECT_EQ(cores.own(), std::min(cores.affinity, static_cast<int>(std::ceil(expected - 1e-9))));
    EXPECT_TRUE(cores.quota_file.starts_with(machine.root() + "/sys/fs/cgroup/")) << cores.quota_file;
  }
  EXPECT_GT(limited, 100);
}

TEST(UsableCores, RoundFractionsUp) {
  UsableCores cores{.machine = 64, .affinity = 8, .launcher = 16};
  EXPECT_EQ(cores.own(), 8);
  EXPECT_EQ(cores.shared(), 16);
  for (const auto& [quota, own, shared] :
       std::vector<std::tuple<double, int, int>>{{0.2, 1, 1}, {1, 1, 1}, {1.5, 2, 2}, {8.5, 8, 9}, {1e12, 8, 16}}) {
    cores.quota = quota;
    EXPECT_EQ(cores.own(), own) << quota;
    EXPECT_EQ(cores.shared(), shared) << quota;
  }
}

TEST(FreeMemory, ObeysTheLimitsOfBothVersions) {
  const Machine machine;
  machine.put("/proc/meminfo", "MemTotal: 4096 kB\nMemAvailable:   2048 kB\n");
  EXPECT_EQ(available_memory(machine.root()), 2 << 20);
  EXPECT_EQ(memory_limit(machine.root()), std::nullopt);
  machine.put("/proc/self/cgroup", "2:memory:/a/b\n0::/c\n");
  machine.put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "900000\n");
  machine.put("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "500000\n");
  machine.put("/sys/fs/cgroup/memory/a/memory.stat", "cache 1\ninactive_file 7\ntotal_inactive_file 100000\n");
  machine.put("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");  // none
  EXPECT_EQ(memory_limit(machine.root()), 900000);
  EXPECT_EQ(available_memory(machine.root()), 500000);
  machine.put("/sys/fs/cgroup/c/memory.max", "800000\n");
  machine.put("/sys/fs/cgroup/c/memory.current", "799000\n");
  machine.put("/sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(memory_limit(machine.root()), 800000);
  EXPECT_EQ(available_memory(machine.root()), 1000);
  machine.put("/sys/fs/cgroup/c/memory.current", "900000\n");
  EXPECT_EQ(available_memory(machine.root()), 0) << "more than the limit is used";
}

TEST(SystemFiles, ReadNumbersAndNothingElse) {
  const Machine machine;
  machine.put("/one", "17 of 20\n3\n");
  machine.put("/none", "max\n");
  machine.put("/part", "12x\n");
  machine.put("/table", "a: 1\nlong name: 5\n b\t-2 kB\nc:\nd: x\n");
  EXPECT_EQ(number_in(machine.root() + "/one"), 17);
  for (const char* path : {"/none", "/part", "/missing"}) EXPECT_EQ(number_in(machine.root() + path), std::nullopt);
  EXPECT_EQ(number_after(machine.root() + "/table", "b"), -2);
  for (const char* key : {"c:", "d:", "e:", ""}) {
    EXPECT_EQ(number_after(machine.root() + "/table", key), std::nullopt) << key;
  }
  EXPECT_EQ(parse_number<double>("1.5"), 1.5);
  EXPECT_EQ(parse_number<double>("1,5"), std::nullopt);
  EXPECT_EQ(parse_number<int>("99999999999"), std::nullopt);
}

}  // namespace
}  // namespace partita

#include "cli/findings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace partita {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

MachineFacts sound_machine() {
  MachineFacts facts;
  facts.isa = {"avx2", "fma", "bmi2", "avx512f"};
  facts.is_built_for_x86_64_v3 = true;
  facts.cores = facts.usable_cores = facts.thread_cores = 8;
  facts.onednn_isa = "avx512_core";
  facts.available_memory = facts.memory = 8 * kGiB;
  facts.shared_memory = facts.free_shared_memory = kGiB;
  facts.open_files = 1024;
  facts.has_mpi = facts.finds_mpi = true;
  facts.mpirun = "/usr/bin/mpirun";
  facts.python = "/usr/bin/python3";
  facts.python_packages = {"numpy"};
  return facts;
}

/// Expects one finding for the machine that `change` makes of a sound one.
template <class Change>
void expect_finding(bool is_broken, const std::string& where, const std::string& what, Change change) {
  MachineFacts facts = sound_machine();
  change(facts);
  const std::vector<Finding> found = findings_of(facts);
  ASSERT_EQ(found.size(), 1u) << what;
  EXPECT_EQ(found[0].is_broken, is_broken);
  EXPECT_EQ(found[0].where, where);
  EXPECT_EQ(found[0].what, what);
  EXPECT_FALSE(found[0].remedy.empty());
}

TEST(Findings, NoneOfASoundMachine) { EXPECT_TRUE(findings_of(sound_machine()).empty()); }

TEST(Findings, OfPlugins) {
  const PluginReport missing{.device = "cuda", .missing = "[device] no plugin", .remedy = "pip install it"};
  MachineFacts without = sound_machine();
  without.plugins = {missing};
  EXPECT_TRUE(findings_of(without).empty()) << "there is no GPU that could use it";
  expect_finding(false, "device cuda", "it cannot be used: [device] no plugin", [&](MachineFacts& facts) {
    facts.plugins = {missing};
    facts.has_nvidia_device = true;
  });
  expect_finding(false, "device tpu", "it cannot be used: [device] no driver", [](MachineFacts& facts) {
    facts.plugins = {{.device = "rocm", .path = "rocm.so", .devices = 1},
                     {.device = "tpu", .path = "tpu.so", .missing = "[device] no driver", .remedy = "pip install it"}};
  });
}

TEST(Findings, OfTheProcessor) {
  expect_finding(true, "processor",
                 "instructions of this build are missing, got no avx2, fma or bmi2, expected x86-64-v3",
                 [](MachineFacts& facts) { facts.isa = {"fma"}; });
  expect_finding(false, "cores", "the process may not use all cores, got 4 of 8",
                 [](MachineFacts& facts) { facts.usable_cores = 4; });
  expect_finding(false, "cores", "the control group allows less CPU time than the cores have, got 1.5 of 8",
                 [](MachineFacts& facts) { facts.core_quota = 1.5; });
  expect_finding(false, "oneDNN", "it does not use all instructions of the processor, got avx2, expected avx512",
                 [](MachineFacts& facts) { facts.onednn_isa = "avx2"; });
  expect_finding(false, "OMP_NUM_THREADS", "more threads than cores, got 16, expected at most 8",
                 [](MachineFacts& facts) { facts.omp_num_threads = "16"; });
}

TEST(Findings, OfMemory) {
  expect_finding(true, "memory", "too little, got 1.0 MiB, expected 256.0 MiB or more",
                 [](MachineFacts& facts) { facts.available_memory = 1 << 20; });
  expect_finding(false, "shared memory", "not available, got no /dev/shm", [](MachineFacts& facts) {
    facts.shared_memory.reset();
    facts.free_shared_memory.reset();
  });
  expect_finding(false, "shared memory",
                 "too little in /dev/shm, got 64.0 MiB free of 64.0 MiB, expected 128.0 MiB or more",
                 [](MachineFacts& facts) { facts.shared_memory = facts.free_shared_memory = 64 << 20; });
}

TEST(Findings, OfLimits) {
  expect_finding(false, "open files", "a low limit, got 64, expected 256 or more",
                 [](MachineFacts& facts) { facts.open_files = 64; });
  expect_finding(true, "threads", "too low a limit, got 8, expected 64 or more",
                 [](MachineFacts& facts) { facts.processes = 8; });
  expect_finding(false, "temporary files", "the folder cannot be written, got '/nowhere'", [](MachineFacts& facts) {
    facts.can_write_temporary_files = false;
    facts.temporary_folder = "/nowhere";
  });
}

TEST(Findings, OfLaunchers) {
  expect_finding(true, "launcher", "its environment variables are inconsistent, got [launch] bad",
                 [](MachineFacts& facts) { facts.launch_error = "[launch] bad"; });
  expect_finding(false, "MPI", "the program was built without it", [](MachineFacts& facts) { facts.has_mpi = false; });
  expect_finding(false, "MPI", "no launcher in PATH, got neither mpirun nor srun",
                 [](MachineFacts& facts) { facts.mpirun = ""; });
  expect_finding(false, "MPI", "its library was not found, got no libmpi",
                 [](MachineFacts& facts) { facts.finds_mpi = false; });
  expect_finding(false, "MPI", "mpirun refuses to run as root", [](MachineFacts& facts) { facts.is_root = true; });
}

TEST(Findings, OfPython) {
  expect_finding(false, "Python", "not in PATH, got no python3", [](MachineFacts& facts) { facts.python = ""; });
  expect_finding(false, "Python", "networkx is not installed",
                 [](MachineFacts& facts) { facts.missing_python_packages = {"networkx"}; });
  expect_finding(false, "Python", "jinja2 is not installed",
                 [](MachineFacts& facts) { facts.missing_python_packages = {"jinja2"}; });
}

TEST(Findings, BrokenOnesComeFirst) {
  MachineFacts facts = sound_machine();
  facts.usable_cores = 4;
  facts.available_memory = 0;
  const std::vector<Finding> found = findings_of(facts);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[0].is_broken);
  EXPECT_FALSE(found[1].is_broken);
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

TEST(MachineFacts, ReadsProcessorsAndControlGroups) {
  const std::filesystem::path root =
      std::filesystem::temp_directory_path() / fmt::format("partita_machine_facts.{}", ::getpid());
  std::filesystem::remove_all(root);
  write(root / "proc/cpuinfo",
        "processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: fpu avx2 fma avx512f\n\nprocessor\t: 1\n");
  write(root / "proc/meminfo", "MemTotal:       2048 kB\nMemFree: 1 kB\n");
  write(root / "sys/fs/cgroup/cpu.max", "150000 100000\n");
  write(root / "sys/fs/cgroup/memory.max", "1048576\n");
  MachineFacts facts = read_machine_facts(root.string());
  EXPECT_EQ(facts.processor, "Some CPU");
  EXPECT_EQ(facts.isa, (std::vector<std::string>{"avx2", "fma", "avx512f"}));
  EXPECT_EQ(facts.memory, 2 << 20);
  EXPECT_EQ(facts.core_quota, 1.5);
  EXPECT_EQ(facts.memory_limit, 1 << 20);
  EXPECT_FALSE(facts.onednn_version.empty());
  EXPECT_GT(facts.usable_cores, 0);
  EXPECT_EQ(facts.thread_cores, std::min(2, facts.usable_cores));
  EXPECT_EQ(facts.core_quota_file, root.string() + "/sys/fs/cgroup/cpu.max");
  // Without limits, and with version 1 of control groups.
  write(root / "sys/fs/cgroup/cpu.max", "max 100000\n");
  write(root / "sys/fs/cgroup/memory.max", "max\n");
  facts = read_machine_facts(root.string());
  EXPECT_FALSE(facts.core_quota);
  EXPECT_FALSE(facts.memory_limit);
  write(root / "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
  write(root / "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  write(root / "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  facts = read_machine_facts(root.string());
  EXPECT_EQ(facts.core_quota, 0.5);
  EXPECT_FALSE(facts.memory_limit);
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace partita

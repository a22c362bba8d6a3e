// Too little memory, too few threads, and an environment that keeps OpenMP from starting any: every run ends well, or
// says in one line what was too little, with the exit code of that. No signal, no hang, no silence.

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "support/program.h"

namespace partita {
namespace {

constexpr rlim_t kMiB = rlim_t{1} << 20;
constexpr uid_t kOtherUser = 61'234;  // whose processes are only those of a test

using Command = std::vector<std::string>;

const Command kOneRank{"train", "mlp:hidden=16", "--steps", "3", "--batch", "16", "--ranks", "1", "--threads", "2"};
const Command kFourRanks{"train", "mlp:hidden=16", "--steps", "3", "--batch", "16", "--ranks", "4", "--threads", "2"};
const Command kImagesOnTwoRanks{"train", "lenet", "--steps", "2", "--batch", "8", "--ranks", "2", "--threads", "1"};

std::function<void()> with_addresses(rlim_t bytes) {
  return [bytes] {
    const rlimit limit{bytes, bytes};
    ::setrlimit(RLIMIT_AS, &limit);
  };
}

/// Smallest limit of addresses, in bytes, to within a MiB, under which the loader can start the program.
rlim_t min_addresses() {
  rlim_t low = 0, high = 1024 * kMiB;  // too little, enough
  while (high - low > kMiB) {
    const rlim_t middle = (low + high) / 2;
    const Outcome outcome = run_program({"--version"}, with_addresses(middle));
    (outcome.exit_code == 0 ? high : low) = middle;
  }
  return high;
}

/// Numbers of runs that succeed, and of runs that end for want of memory.
struct Counts {
  int well = 0, short_of = 0;
};

/// Runs the command under each limit. Expects every run to succeed, or to end with one line and the code out_of_memory.
Counts run_limited(const Command& command, const std::vector<std::function<void()>>& limits) {
  Counts counts;
  for (size_t i = 0; i < limits.size(); ++i) {
    const Outcome outcome = run_program(command, limits[i]);
    const std::string which =
        fmt::format("limit {} of {}: {}", i, fmt::join(command, " "), fmt::join(outcome.lines, "\n"));
    EXPECT_EQ(outcome.signal, 0) << which;
    if (outcome.exit_code == 0) {
      ++counts.well;
      EXPECT_TRUE(outcome.lines.empty()) << which;
      continue;
    }
    ++counts.short_of;
    EXPECT_EQ(outcome.exit_code, static_cast<int>(ExitCode::out_of_memory)) << which;
    EXPECT_EQ(outcome.lines.size(), 1u) << which;
    const std::string line = outcome.lines.empty() ? "" : outcome.lines[0];
    EXPECT_TRUE(line.starts_with("partita: error: [memory] ") || line.starts_with("partita: error: [threads] ") ||
                line.starts_with("partita: error: [cpu] "))
        << which;
  }
  return counts;
}

TEST(LimitedResources, OfAddresses) {
  const rlim_t least = min_addresses();
  std::vector<std::function<void()>> limits;
  for (rlim_t i = 0; i < 20; ++i) limits.push_back(with_addresses(least + (4 * i + i * i) * kMiB));
  for (const Command& command : {kOneRank, kFourRanks, kImagesOnTwoRanks}) {
    const Counts counts = run_limited(command, limits);
    EXPECT_GT(counts.well, 0) << command[1];
    EXPECT_GT(counts.short_of, 3) << command[1];
  }
}

/// Tasks of this user.
rlim_t tasks_of_user() {
  rlim_t tasks = 0;
  std::error_code gone;
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    struct stat status {};
    const std::string folder = process.path() / "task";
    if (::stat(folder.c_str(), &status) != 0 || status.st_uid != ::getuid()) continue;
    for (std::filesystem::directory_iterator task(folder, gone), end; !gone && task != end; task.increment(gone))
      ++tasks;
  }
  return tasks;
}

/// Limits the number of threads. Root has no such limit, so root runs the program as another user.
std::function<void()> with_threads(rlim_t count) {
  const bool is_root = ::getuid() == 0;
  const rlim_t all = count + (is_root ? 0 : tasks_of_user());
  return [is_root, all] {
    if (is_root && (::setgid(kOtherUser) != 0 || ::setuid(kOtherUser) != 0)) ::_exit(126);
    const rlimit limit{all, all};
    ::setrlimit(RLIMIT_NPROC, &limit);
  };
}

TEST(LimitedResources, OfThreads) {
  std::vector<std::function<void()>> limits;
  for (const int count : {1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 17, 18, 19, 20, 22, 24, 28, 32, 40}) {
    limits.push_back(with_threads(static_cast<rlim_t>(count)));
  }
  for (const Command& command : {kOneRank, kFourRanks, kImagesOnTwoRanks}) {
    const Counts counts = run_limited(command, limits);
    EXPECT_GT(counts.well, 0) << command[1];
    EXPECT_GT(counts.short_of, 0) << command[1];
  }
}

TEST(LimitedResources, SaysHowManyThreadsItNeeds) {
  const Outcome outcome = run_program(kFourRanks, with_threads(8));
  ASSERT_EQ(outcome.lines.size(), 1u);
  EXPECT_NE(outcome.lines[0].find("[threads] cannot start 16 threads (those of 4 ranks), got '"), std::string::npos)
      << outcome.lines[0];
}

/// Runs with a variable, and saves.
Outcome run_with(const char* name, const char* value, Command command, const std::filesystem::path& weights) {
  command.insert(command.end(), {"--save", weights.string()});
  return run_program(command, [&] {
    ::unsetenv("OMP_NUM_THREADS");
    if (name != nullptr) ::setenv(name, value, 1);
  });
}

TEST(OpenMpVariables, DoNotChangeTheTeamsOfRanks) {
  const TempDir folder;
  const std::filesystem::path usual = folder.path() / "usual", other = folder.path() / "other";
  // Large enough for more than one thread.
  const Command one{"train", "lenet", "--steps", "2", "--batch", "64", "--ranks", "1", "--threads", "3"};
  const Command two{"train", "lenet", "--steps", "2", "--batch", "64", "--ranks", "2", "--threads", "2"};
  const std::pair<const char*, const char*> variables[] = {{"OMP_DYNAMIC", "true"},
                                                           {"OMP_MAX_ACTIVE_LEVELS", "0"},
                                                           {"OMP_THREAD_LIMIT", "3"},
                                                           {"OMP_NUM_THREADS", "1"},
                                                           {"OMP_STACKSIZE", "1k"}};
  for (const Command& command : {one, two}) {
    ASSERT_EQ(run_with(nullptr, "", command, usual).exit_code, 0);
    for (const auto& [name, value] : variables) {
      const Outcome outcome = run_with(name, value, command, other);
      EXPECT_EQ(outcome.signal, 0) << name;
      EXPECT_EQ(outcome.exit_code, 0) << name;
      EXPECT_EQ(read_text(other), read_text(usual)) << name;
    }
  }
}

TEST(OpenMpVariables, AThreadLimitBelowTheThreadsOfARank) {
  const auto limited = [](const char* limit) { return [limit] { ::setenv("OMP_THREAD_LIMIT", limit, 1); }; };
  Command command{"train", "mlp:hidden=4", "--steps", "1", "--threads", "2"};
  const Outcome outcome = run_program(command, limited("1"));
  EXPECT_EQ(outcome.exit_code, static_cast<int>(ExitCode::usage));
  ASSERT_EQ(outcome.lines.size(), 1u);
  EXPECT_EQ(outcome.lines[0],
            "partita: error: [threads] OMP_THREAD_LIMIT is too low, got 1, expected 2 or more, or --threads 1");
  EXPECT_EQ(run_program(command, limited("2")).exit_code, 0);
  command.resize(4);  // without --threads: as many as there may be
  EXPECT_EQ(run_program(command, limited("1")).exit_code, 0);
}

TEST(OpenMpVariables, StacksThatDoNotFit) {
  const Outcome outcome = run_program(kOneRank, [] { ::setenv("OMP_STACKSIZE", " 100000 G", 1); });
  EXPECT_EQ(outcome.exit_code, static_cast<int>(ExitCode::out_of_memory));
  ASSERT_EQ(outcome.lines.size(), 1u);
  EXPECT_NE(outcome.lines[0].find("[threads] cannot start 1 threads (compute threads of a rank)"), std::string::npos);
}

}  // namespace
}  // namespace partita

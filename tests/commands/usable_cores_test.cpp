// Default threads, and the warning of too many, under an affinity mask: a process alone, ranks as threads, and ranks
// that a launcher started and may have bound.

#include <sched.h>

#include <cstdlib>

#include "support/places.h"
#include "support/program.h"

namespace partita {
namespace {

int usable() {
  cpu_set_t mask;
  return ::sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 1;
}

/// Variables of rank 0 of two on this host.
void be_a_rank() {
  ::setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  ::setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  ::setenv("OMPI_COMM_WORLD_LOCAL_RANK", "0", 1);
  ::setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "2", 1);
}

/// Returns the threads of each rank that a run would have.
int threads_of(std::vector<std::string> words, const std::function<void()>& before) {
  const Outcome outcome = run_command(words, [&] {
    ::unsetenv("OMP_PROC_BIND");
    before();
  });
  EXPECT_EQ(outcome.exit_code, 0) << fmt::format("{}", fmt::join(outcome.lines, "\n"));
  const std::string key = "\nthreads = ";
  const size_t at = outcome.output.find(key);
  return at == std::string::npos ? -1 : std::atoi(outcome.output.c_str() + at + key.size());
}

const std::vector<std::string> kConfig{kProgram, "train", "mlp", "--batch", "48", "--print-config"};

std::vector<std::string> joined_words(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(UsableCores, OfOneProcess) {
  EXPECT_EQ(threads_of(kConfig, [] { keep_cores(1); }), 1);
  EXPECT_EQ(threads_of(kConfig, [] {}), usable());
  EXPECT_EQ(threads_of(joined_words(kConfig, {"--ranks", "2"}), [] {}), std::max(1, usable() / 2));
}

// OpenMP binds the first thread to one core before the program begins.
TEST(UsableCores, OfThreadsThatOpenMpBinds) {
  const auto bind = [] { ::setenv("OMP_PROC_BIND", "true", 1); };
  EXPECT_EQ(threads_of(kConfig, bind), usable());
  std::vector<std::string> launched = kConfig;
  launched.insert(launched.begin() + 1, {"launch", "-n", "1", "--"});
  EXPECT_EQ(threads_of(launched, bind), usable());
}

TEST(UsableCores, OfARankThatIsBound) {
  if (usable() < 2) GTEST_SKIP() << "one core cannot be shared";
  // The launcher is this process, which has more cores than the rank.
  const auto bound = [] {
    be_a_rank();
    keep_cores(1);
  };
  EXPECT_EQ(threads_of(kConfig, bound), 1);
  // A script between the launcher and the rank changes nothing.
  std::vector<std::string> script = joined_words({"sh", "-c", "\"$@\"; exit $?", "sh"}, kConfig);
  EXPECT_EQ(threads_of(script, bound), 1);
  EXPECT_EQ(threads_of(kConfig, be_a_rank), std::max(1, usable() / 2)) << "a rank that is not bound";
}

TEST(UsableCores, OnlyRanksThatShareACoreAreTooMany) {
  if (usable() < 2) GTEST_SKIP() << "one core cannot be shared";
  const std::string two = fmt::format("{}", 2 * usable());
  const std::vector<std::string> train{"train", "mlp:hidden=4", "--batch", "8", "--steps", "1", "--no-eval"};
  const auto run = [&](const std::vector<std::string>& more, const std::function<void()>& before) {
    const Outcome outcome = run_program(joined_words(train, more), before);
    EXPECT_EQ(outcome.exit_code, 0) << fmt::format("{}", fmt::join(outcome.lines, "\n"));
    return outcome;
  };
  EXPECT_TRUE(has_warning(run({"--ranks", "2"}, [] { keep_cores(1); }), "[threads] 2 ranks x 1 threads share 1 cores"));
  EXPECT_FALSE(has_warning(run({"--ranks", "2"}, [] {}), "[threads]"));
  // Of two ranks in a launch, each on a core of its own; and both on one.
  const std::vector<std::string> launch{"launch", "-n", "2", "--", "sh", "-c"};
  const auto launched = [&](const std::string& binding, const std::function<void()>& before) {
    const std::string command = fmt::format("{} \"$@\"", binding);
    return run_program(joined_words(joined_words(launch, {command, "sh", kProgram}), train), before);
  };
  const Outcome apart = launched("exec taskset -c $PARTITA_RANK", [] {});
  if (apart.exit_code != 0) GTEST_SKIP() << "cores 0 and 1 are not those of this process, or there is no taskset";
  EXPECT_FALSE(has_warning(apart, "[threads]")) << apart.warnings[0];
  EXPECT_TRUE(has_warning(launched("exec", [] { keep_cores(1); }), "[threads] 2 ranks x 1 threads share 1 cores"));
}

TEST(UsableCores, AreWhatTheDoctorNames) {
  const Outcome text = run_program({"doctor"}, [] { keep_cores(1); });
  const std::string reason = usable() > 1 ? "; 1 in the affinity mask" : "";
  EXPECT_NE(text.output.find(" for compute threads" + reason), std::string::npos) << text.output;
  EXPECT_NE(text.output.find("cores         1 of "), std::string::npos) << text.output;
  const Outcome json = run_program({"doctor", "--json"}, [] { keep_cores(1); });
  EXPECT_NE(json.output.find("\"usable_cores\": 1,"), std::string::npos) << json.output;
  EXPECT_NE(json.output.find("\"thread_cores\": 1,"), std::string::npos) << json.output;
}

}  // namespace
}  // namespace partita

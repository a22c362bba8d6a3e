// Compute threads without work spin for a bounded time, however a job is started.

#include <cstdlib>

#include "support/program.h"

namespace partita {
namespace {

/// The line of OMP_DISPLAY_ENV that tells how long the OpenMP library spins, as the last start of a program printed it.
std::string spins_of(const std::vector<std::string>& arguments, const std::string& variable = "",
                     const std::string& value = "") {
  const Outcome outcome = run_program(arguments, [&] {
    ::setenv("OMP_DISPLAY_ENV", "verbose", 1);
    ::unsetenv("OMP_WAIT_POLICY");
    ::unsetenv("GOMP_SPINCOUNT");
    if (!variable.empty()) ::setenv(variable.c_str(), value.c_str(), 1);
  });
  EXPECT_EQ(outcome.exit_code, 0);
  std::string spins;
  for (const std::string& line : outcome.lines) {
    if (line.find("GOMP_SPINCOUNT") != std::string::npos) spins = line.substr(line.find('\''));
  }
  return spins;
}

const std::vector<std::string> kTrain{"train", "mlp:hidden=4", "--steps", "1", "--no-eval", "--threads", "2"};

TEST(Waiting, SpinsForABoundedTime) {
  EXPECT_EQ(spins_of(kTrain), "'2000'");
  std::vector<std::string> ranks = kTrain;
  ranks.insert(ranks.end(), {"--ranks", "2"});
  EXPECT_EQ(spins_of(ranks), "'2000'");
}

TEST(Waiting, StaysAsTheUserSaysIt) {
  EXPECT_EQ(spins_of(kTrain, "OMP_WAIT_POLICY", "passive"), "'0'");
  EXPECT_EQ(spins_of(kTrain, "OMP_WAIT_POLICY", "active"), "'30000000000'");
  EXPECT_EQ(spins_of(kTrain, "GOMP_SPINCOUNT", "7"), "'7'");
}

}  // namespace
}  // namespace partita

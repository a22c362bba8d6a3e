// `partita schedule --full` prints texts that can be read. Golden texts show what else it prints.

#include "support/program.h"

namespace partita {
namespace {

TEST(PrintedSchedules, InFullCanBeRead) {
  const Outcome outcome = run_program({"schedule", "mlp:layers=1,hidden=8", "--full"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(outcome.output.starts_with("partita schedule 1\n")) << outcome.output.substr(0, 80);
  const Outcome stages = run_program({"schedule", "mlp:layers=1,hidden=8", "--full", "--ranks", "2", "--stages", "2"});
  EXPECT_TRUE(stages.output.starts_with("# stage 0 of 2, ranks 0 to 0\npartita schedule 1\n"));
}

}  // namespace
}  // namespace partita

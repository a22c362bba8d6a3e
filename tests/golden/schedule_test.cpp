// What `partita schedule` prints of small trainings. The plain loops take the same memory on every processor.

#include "support/program.h"

namespace partita {
namespace {

struct PrintedSchedule {
  std::string file;  // in tests/golden/schedule
  std::vector<std::string> words;
};

const PrintedSchedule kPrinted[] = {
    {"mlp_data_parallel.txt", {"mlp:layers=2,hidden=64", "--batch", "32", "--ranks", "4", "--micro-batches", "4"}},
    {"gpt_stages.txt",
     {"gpt:layers=2,hidden=16,heads=2,seq=8", "--batch", "16", "--ranks", "4", "--stages", "2", "--micro-batches",
      "4"}},
    {"mlp_zero_bubble.txt",
     {"mlp:layers=3,hidden=784", "--batch", "24", "--ranks", "3", "--stages", "3", "--micro-batches", "6", "--order",
      "zero_bubble"}},
};

TEST(PrintedSchedules, AreThoseOfTheFiles) {
  for (const auto& [file, given] : kPrinted) {
    std::vector<std::string> words{"schedule"};
    words.insert(words.end(), given.begin(), given.end());
    words.insert(words.end(), {"--threads", "1", "--kernels", "reference"});
    const Outcome outcome = run_program(words);
    EXPECT_EQ(outcome.exit_code, 0) << file;
    EXPECT_EQ(outcome.output, read_text(std::string(PARTITA_SOURCE_DIR) + "/tests/golden/schedule/" + file))
        << "partita " << fmt::format("{}", fmt::join(words, " "));
  }
}

TEST(PrintedSchedules, InFullCanBeRead) {
  const Outcome outcome = run_program({"schedule", "mlp:layers=1,hidden=8", "--full"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(outcome.output.starts_with("partita schedule 1\n")) << outcome.output.substr(0, 80);
  const Outcome stages = run_program({"schedule", "mlp:layers=1,hidden=8", "--full", "--ranks", "2", "--stages", "2"});
  EXPECT_TRUE(stages.output.starts_with("# stage 0 of 2, ranks 0 to 0\npartita schedule 1\n"));
}

}  // namespace
}  // namespace partita

// Stages of a pipeline that cannot be: what the program says, and where it goes on with a warning.

#include "support/program.h"

namespace partita {
namespace {

std::vector<std::string> training_of(const std::vector<std::string>& more, const std::string& model = "mlp:hidden=8") {
  std::vector<std::string> words{"train", model, "--steps", "1", "--threads", "1"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

void refused(const std::vector<std::string>& more, const std::string& message, ExitCode code = ExitCode::usage) {
  expect_refusal(training_of(more), code, {message});
}

TEST(StageErrors, Numbers) {
  refused({"--ranks", "2", "--stages", "-1"}, "[--stages] out of range, got -1, expected 0 to 1024");
  refused({"--ranks", "2", "--stages", "2000"}, "[--stages] out of range, got 2000, expected 0 to 1024");
  refused({"--ranks", "2", "--interleave", "0"}, "[--interleave] out of range, got 0, expected 1 to 1024");
  refused({"--ranks", "2", "--stages", "two"}, "[--stages] not a number, got 'two', expected a whole number");
  refused({"--ranks", "2", "--order", "2f2b"},
          "[--order] unknown name, got '2f2b', expected one of gpipe 1f1b interleaved zero_bubble");
  refused({"--ranks", "100", "--stages", "100"},
          "[stages] more stages than the network has nodes, got 100 stages of 11 nodes, expected at most 11");
}

TEST(StageErrors, Groups) {
  refused({"--ranks", "2", "--stages", "3"},
          "[stages] fewer ranks than groups of stages, got 2 ranks for 3 groups, expected at least 3 ranks, or more "
          "stages on one group (--interleave)");
  refused({"--ranks", "3", "--stages", "5", "--interleave", "2"},
          "[stages] stages do not divide into groups of ranks, got 5 with 2 on each group, expected 4 or 6 stages, or "
          "--interleave 1");
  refused({"--ranks", "2", "--interleave", "2"},
          "[stages] stages do not divide into groups of ranks, got 1 with 2 on each group, expected 2 stages, or "
          "--interleave 1");
  refused({"--ranks", "3", "--stages", "2", "--gradients", "sum"},
          "[--gradients sum] sums of the ranks' means need stages of equal size, got 3 ranks for 2 groups of stages, "
          "expected a multiple of 2 or --gradients mean");
  expect_refusal(training_of({"--ranks", "3", "--stages", "2", "--batch", "12"}, "resnet18:width=4,size=12"),
                 ExitCode::usage,
                 {"[--batch-norm] statistics of the rows of each rank need stages of equal size, got 3 ranks for 2 "
                  "groups of stages, expected a multiple of 2 or --batch-norm global"});
}

TEST(StageErrors, Batches) {
  refused({"--ranks", "2", "--stages", "2", "--batch", "24", "--micro-batches", "5"},
          "[micro-batches] the global batch does not divide, got 5 micro-batches of batch 24, expected one of 1, 2, 3, "
          "4, 6, 8, 12, 24");
  refused({"--ranks", "4", "--stages", "2", "--batch", "7"},
          "[train] the global batch does not divide, got batch 7 on 2 ranks, expected a multiple of 2: 6 or 8, or "
          "--parallel hybrid");
  // With two annotated stages the batch is split over the two ranks of a stage.
  EXPECT_EQ(run_program(training_of({"--ranks", "4", "--batch", "6", "--stage", "net/fc1=0", "--stage", "net/fc3=1"}))
                .exit_code,
            0);
}

TEST(StageErrors, Annotations) {
  for (const std::string text : {"net/fc1", "=1", "net/fc1=x", "net/fc1=-1", "net/fc1=1024", "net/fc1=1.5"}) {
    refused({"--stage", text}, fmt::format("[--stage] not a stage of a layer, got '{}', expected LAYERS=STAGE, such as "
                                           "net/h/0..5=0, with a stage from 0 to 1023",
                                           text));
  }
  refused({"--ranks", "2", "--stage", "net/fc9=1"},
          "[stages] unknown layer, got 'net/fc9', expected one of 7 layers, did you mean 'net/fc1'?");
  refused({"--ranks", "3", "--stage", "net/fc1=0", "--stage", "net/fc3=2"},
          "[stages] a stage has no layers, got none on stage 1 of 3, expected layers on each, or 2 stages");
  refused({"--ranks", "2", "--stage", "net/fc1=1", "--stage", "net/fc3=0"},
          "[stages] a node needs the result of a later stage, got net/fc3/matmul3 (zoo/mlp.cpp:17) of stage 0, which "
          "uses net/relu2/relu2 (zoo/mlp.cpp:14) of stage 1, expected it on stage 1 or later");
  refused({"--ranks", "2", "--stage", "net/fc1=0", "--stage", "net/*=1"},
          "[stages] a layer is on two stages, got 'net/fc1=0' and 'net/*=1' for net/fc1/matmul, expected one");
  refused({"--ranks", "2", "--stages", "2", "--stage", "net/fc1=0", "--stage", "net/fc3=3"},
          "[stages] a layer is on a stage that does not exist, got stage 3 of 2, expected stages 0 to 1");
}

// No order of a run is another one than the user asked for without a word.
TEST(StageErrors, OrdersThatAreOthers) {
  const Outcome alone = run_program(training_of({"--ranks", "2", "--order", "zero_bubble"}));
  EXPECT_EQ(alone.exit_code, 0);
  EXPECT_TRUE(
      has_warning(alone, "[--order] has no effect on one stage, got zero_bubble, expected it with --stages of 2"));
  const Outcome apart = run_program(training_of({"--ranks", "2", "--stages", "2", "--order", "interleaved"}));
  EXPECT_EQ(apart.exit_code, 0);
  EXPECT_TRUE(has_warning(apart,
                          "[--order] stages that share no ranks run as 1f1b, got 2 stages of interleaved, "
                          "expected --interleave of 2 or more"));
  const Outcome fine =
      run_program(training_of({"--ranks", "2", "--stages", "4", "--interleave", "2", "--order", "interleaved"}));
  EXPECT_EQ(fine.exit_code, 0);
  EXPECT_FALSE(has_warning(fine, "[--order]"));
}

// Networks without norms run on stages of different sizes.
TEST(StageErrors, UnevenStagesWithoutNorms) {
  EXPECT_EQ(run_program(training_of({"--ranks", "3", "--stages", "2"})).exit_code, 0);
}

// The error is printed once, whatever the number of ranks, and by other commands too.
TEST(StageErrors, OfOtherCommands) {
  expect_refusal({"partition", "mlp:hidden=8", "--ranks", "2", "--stages", "3"}, ExitCode::usage,
                 {"[stages] fewer ranks than groups of stages, got 2 ranks for 3 groups"});
  expect_refusal({"schedule", "mlp:hidden=8", "--ranks", "2", "--stages", "3", "--interleave", "2"}, ExitCode::usage,
                 {"[stages] stages do not divide into groups of ranks"});
}

}  // namespace
}  // namespace partita

// Splits that cannot be: each names the node, what was asked and what would be legal.

#include <gtest/gtest.h>

#include "support/program.h"

namespace partita {
namespace {

void expect_usage_of_shard(const std::vector<std::string>& arguments, const std::vector<std::string>& parts) {
  expect_refusal(arguments, ExitCode::usage, parts);
}

std::vector<std::string> partition(std::vector<std::string> more) {
  std::vector<std::string> words{"partition", "mlp:layers=1,hidden=12", "--batch", "12", "--parallel", "auto"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

void refuses(const std::string& ranks, const std::string& annotation, const std::vector<std::string>& parts) {
  expect_usage_of_shard(partition({"--ranks", ranks, "--shard", annotation}), parts);
}

TEST(ShardErrors, PartsThatDoNotFitTheMesh) {
  refuses("8", "net/fc1/matmul=((3,1),(1,1))",
          {"[shard] matmul (in net/fc1 at", "more or other parts than the mesh has", "divides 8 ranks"});
  refuses("8", "net/fc1/matmul=((4,1),(4,1))", {"more or other parts than the mesh has, got ((4, 1), (4, 1))"});
}

TEST(ShardErrors, MorePartsThanElements) {
  refuses(
      "16", "net/fc1/matmul=((1,1),(16,1))",
      {"dimension 0 of operand 1, f32[12,784]", "there are fewer elements, got 16 parts, expected one of 1, 2, 4, 8"});
}

TEST(ShardErrors, OperandsThatDisagree) {
  refuses("8", "net/fc1/matmul=((1,2),(1,4))",
          {"dimension 1 of operand 1", "is cut differently from an operand before it, got 4 parts, expected 2"});
}

TEST(ShardErrors, WrongLengths) {
  refuses("8", "net/fc1/matmul=((1,2))", {"wrong number of operands, got 1 in ((1, 2)), expected 2"});
  refuses("8", "net/fc1/matmul=((1,2),(2))", {"wrong number of dimensions of operand 1, got 1"});
  refuses("8", "net/fc1/matmul=((1,2),(1,2))->((1))", {"wrong number of dimensions of result 0"});
  refuses("8", "net/fc1/matmul=((2,1),(1,1))->((8,1))",
          {"dimension 0 of result 0", "cannot have this layout, got 8 parts"});
}

TEST(ShardErrors, TextsThatCannotBeRead) {
  refuses("8", "net/fc1/matmul", {"[--shard] no node", "expected NODES=STRATEGY"});
  refuses("8", "net/fc1/matmul=((2,1)", {"[--shard] cannot be read at position 7"});
  refuses("8", "net/fc1/matmul=((0,1),(1,1))", {"[--shard] cannot be read", "a number of parts, 1 to 2^20"});
  refuses("8", "net/fc1/matmul=[dp=8]((dq,None),(None,None))", {"[--shard] unknown axis, got 'dq'", "[dp] or None"});
}

TEST(ShardErrors, BlocksThatCannotBeCutSo) {
  const auto refuses_blocks = [](std::vector<std::string> more, const std::vector<std::string>& parts) {
    std::vector<std::string> words{"partition", "gpt:layers=1,hidden=8,heads=2,seq=4,vocab=8", "--batch", "12"};
    words.insert(words.end(), more.begin(), more.end());
    expect_usage_of_shard(words, parts);
  };
  refuses_blocks({"--ranks", "12", "--parallel", "auto", "--tensor-parallel", "5"},
                 {"[--tensor-parallel] does not divide the ranks, got 5 of 12, expected 4 or 6"});
  refuses_blocks({"--ranks", "4", "--parallel", "auto", "--tensor-parallel", "8"},
                 {"[--tensor-parallel] does not divide the ranks, got 8 of 4, expected 4"});
  refuses_blocks({"--parallel", "auto", "--tensor-parallel", "2"},
                 {"[--tensor-parallel] does not divide the ranks, got 2 of 1, expected 1"});
  refuses_blocks({"--ranks", "4", "--tensor-parallel", "2"},
                 {"[--tensor-parallel] cuts more than the batch, got --parallel data, expected --parallel auto"});
  refuses_blocks(
      {"--ranks", "4", "--parallel", "auto", "--sequence-parallel"},
      {"[--sequence-parallel] has no effect, got no --tensor-parallel, expected --tensor-parallel 2 or more"});
  refuses_blocks({"--ranks", "16", "--parallel", "auto", "--tensor-parallel", "16"},
                 {"[--tensor-parallel] illegal cut of embedding", "expected a legal cut of"});
  refuses_blocks({"--ranks", "4", "--parallel", "auto", "--tensor-parallel", "2", "--shard",
                  "net/h/0/attn/q/matmul=[dp=2,mp=2]((dp,None,None),(mp,None))"},
                 {"tensor"});
  refuses_blocks({"--ranks", "4", "--parallel", "auto", "--tensor-parallel", "4", "--shard",
                  "net/h/0/attn/q/matmul=[data=2,tensor=2]((data,None,None),(tensor,None))"},
                 {"[--tensor-parallel] the layout has an axis 'tensor' of another size, got 4, expected 2"});
  refuses_blocks({"--ranks", "12", "--parallel", "auto", "--tensor-parallel", "2", "--context-parallel", "4"},
                 {"[--context-parallel] does not divide the ranks, got 4 of 6, expected 3 or 6"});
  refuses_blocks({"--ranks", "4", "--context-parallel", "2"},
                 {"[--context-parallel] cuts more than the batch, got --parallel data, expected --parallel auto"});
  expect_usage_of_shard(partition({"--ranks", "4", "--tensor-parallel", "2"}),
                        {"[--tensor-parallel] nothing to cut in graph mlp, got 2 ranks, expected 1"});
  expect_usage_of_shard(partition({"--ranks", "4", "--context-parallel", "4"}),
                        {"[--context-parallel] nothing to cut in graph mlp, got 4 ranks, expected 1"});
}

TEST(ShardErrors, NodesThatAreNotThere) {
  refuses("8", "net/fc3/matmul=((2,1),(1,1))", {"[shard] unknown node", "did you mean 'net/fc1/matmul'?"});
}

TEST(ShardErrors, TwoLayoutsOfOneParameter) {
  const std::vector<std::string> words{"partition",  "gpt:layers=1,hidden=8,heads=2,seq=4,vocab=8",
                                       "--batch",    "4",
                                       "--ranks",    "4",
                                       "--parallel", "semi",
                                       "--shard",    "net/embedding=((4,1),(1,1))",
                                       "--shard",    "net/matmul=((2,1,1),(2,1))"};
  expect_usage_of_shard(
      words, {"[shard] two annotations lay out one parameter differently", "for 'wte.weight', expected one layout"});
}

TEST(ShardErrors, LayoutsOfAnotherNumberOfRanks) {
  refuses("8", "net/fc1/matmul=[dp=2,mp=2]((dp,None),(None,None))",
          {"the layout is for another number of ranks, got 4, expected 8"});
}

TEST(ShardErrors, UnevenPartsWhenTheyAreRefused) {
  expect_usage_of_shard(partition({"--ranks", "8", "--shard", "net/fc1/matmul=((1,1),(8,1))", "--uneven", "error"}),
                        {"is cut unevenly, got 8 parts of a dimension of 12, expected 6 or 12"});
}

TEST(ShardErrors, DatasetStrategies) {
  expect_usage_of_shard(partition({"--ranks", "8", "--dataset-strategy", "full"}),
                        {"[--dataset-strategy]", "expected one of", "full_batch"});
  expect_usage_of_shard(partition({"--ranks", "8", "--dataset-strategy", "((8,1,1,1))"}),
                        {"[dataset strategy] wrong number of inputs, got 1 in ((8, 1, 1, 1)), expected 2"});
  expect_usage_of_shard(partition({"--ranks", "8", "--dataset-strategy", "((16,1,1,1),(8))"}),
                        {"dataset strategy of 'image'", "got 16 parts"});
}

TEST(ShardErrors, NamesOfModes) {
  expect_usage_of_shard(partition({"--search", "propagate"}),
                        {"[--search] unknown name, got 'propagate'", "propagation"});
  expect_usage_of_shard(partition({"--uneven", "yes"}), {"[--uneven] unknown name, got 'yes'"});
  expect_usage_of_shard(partition({"--rank", "1"}), {"[--rank]", "got 1"});
  expect_usage_of_shard({"train", "mlp", "--no-pass", "sums", "--steps", "1"},
                        {"unknown pass, got 'sums'", "partial_sums"});
  expect_usage_of_shard({"train", "quickstart", "--data", "synthetic"}, {"[--data] quickstart has its own rows"});
  expect_usage_of_shard({"train", "quickstart", "--resize", "8"}, {"[--resize] quickstart has its own rows"});
  expect_usage_of_shard({"train", "mlp", "--console", "some", "--steps", "1"},
                        {"[--console] unknown name, got 'some'"});
}

TEST(ShardErrors, LogsThatCannotBeWritten) {
  expect_refusal({"train", "quickstart", "--log-dir", "/proc/logs"}, ExitCode::cannot_write,
                 {"[--log-dir] cannot write /proc/logs/rank_0.log"});
}

TEST(ShardErrors, ListsOfRanks) {
  refuses("2", "net/fc1/matmul=[a=2,ranks=(0,0)]((a,None),(None,None))",
          {"[--shard] bad list of ranks, got rank 0 twice, expected each of 0 to 1 once"});
}

TEST(ShardErrors, IgnoredAnnotationsAreReported) {
  const Outcome outcome = run_program({"train", "quickstart", "--ranks", "2", "--parallel", "data"});
  EXPECT_EQ(outcome.exit_code, 0);
  const auto told = [](const std::string& line) {
    return line.find("[plan] annotations of nodes are ignored, got --parallel data, expected semi or auto") !=
           std::string::npos;
  };
  EXPECT_TRUE(std::any_of(outcome.warnings.begin(), outcome.warnings.end(), told));
  // Also by the commands that only print, and once.
  const std::vector<std::string> more{"mlp:layers=1", "--ranks", "2", "--shard", "net/fc1/matmul=((1,2),(1,2))"};
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"graph"}, {"graph", "--training"}, {"partition"}, {"partition", "--forward"}, {"train", "--steps", "1"}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.begin() + 1, more.begin(), more.end());
    const Outcome ran = run_program(arguments);
    EXPECT_EQ(std::count_if(ran.warnings.begin(), ran.warnings.end(), told), 1) << command[0];
  }
}

TEST(ShardErrors, TwoAnnotationsOfOneNode) {
  const std::string fc1 = "net/fc1/matmul=((1,2),(1,2))", name = "%matmul=((2,1),(1,1))",
                    all = "*/matmul=((2,1),(1,1))";
  for (const std::string& second : {fc1, name, all}) {
    expect_refusal(
        {"partition", "mlp:layers=1", "--ranks", "2", "--parallel", "semi", "--shard", fc1, "--shard", second},
        ExitCode::usage,
        {"[shard] a node is annotated twice, got 'net/fc1/matmul' and '",
         "' for net/fc1/matmul, expected one annotation"});
  }
}

}  // namespace
}  // namespace partita

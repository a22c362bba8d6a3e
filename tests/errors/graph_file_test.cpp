// Graphs written by hand: every refusal names the line.

#include "support/program.h"

namespace partita {
namespace {

constexpr const char* kGraph = R"(partita graph 1
graph small
input %x: f32[4,3] batch=0
state %w: f32[5,3] parameter normal(0,0.1)
%product = matmul(%x, %w) {transpose_b=true} : f32[4,5]
%y = relu(%product) : f32[4,5]
%loss = reduce(%y) {kind=sum, axes=[0,1], scale=0.05} : f32[]
output loss = %loss
)";

/// Runs the graph with `from` replaced by `to`.
void expect_graph_refusal(const std::string& from, const std::string& to, const std::vector<std::string>& parts) {
  const TempDir folder;
  const std::filesystem::path path = folder.path() / "small.txt";
  std::string text = kGraph;
  ASSERT_NE(text.find(from), std::string::npos);
  write_text(path, text.replace(text.find(from), from.size(), to));
  std::vector<std::string> all = parts;
  all.push_back(path.string());
  expect_refusal({"graph", path.string(), "--run"}, ExitCode::usage, all);
}

TEST(GraphFileErrors, GoodGraphRuns) {
  const TempDir folder;
  write_text(folder.path() / "small.txt", kGraph);
  EXPECT_EQ(run_program({"graph", (folder.path() / "small.txt").string(), "--run"}).exit_code, 0);
}

TEST(GraphFileErrors, MissingFile) {
  expect_refusal({"graph", "no/such.txt"}, ExitCode::missing_file, {"[graph] cannot read no/such.txt"});
}

TEST(GraphFileErrors, AConfigurationIsReadToo) {
  const TempDir folder;
  const std::string path = (folder.path() / "small.txt").string(), config = (folder.path() / "job.toml").string();
  write_text(path, kGraph);
  expect_refusal({"graph", path, "--config", config}, ExitCode::missing_file,
                 {"[configuration] cannot read " + config});
  write_text(config, "model = \"mlp\"\n[ranks]\ncount = 2\n");
  expect_refusal({"graph", path, "--config", config, "--run"}, ExitCode::usage, {"got --run with --ranks 2"});
  const Outcome split = run_program({"graph", path, "--config", config});
  EXPECT_EQ(split.output, run_program({"graph", path, "--ranks", "2"}).output);
  EXPECT_NE(split.output.find("\nmesh data=2\n"), std::string::npos) << split.output;
  EXPECT_EQ(run_program({"graph", path, "--config", config, "--ranks", "1", "--run"}).exit_code, 0);
}

TEST(GraphFileErrors, ResultTooLarge) {
  expect_graph_refusal("f32[4,3] batch=0", "f32[35184372088832,3]", {"[graph line 5]", "got f32[4,5]"});
  expect_graph_refusal("%product = matmul(%x, %w) {transpose_b=true} : f32[4,5]",
                       "input %big: f32[35184372088832,0]\ninput %wide: f32[0,65536]\n%product = matmul(%big, %wide)",
                       {"[matmul] result too large, got f32[35184372088832,65536], expected fewer elements"});
}

TEST(GraphFileErrors, OutputTwice) {
  expect_graph_refusal("output loss = %loss", "output loss = %loss\noutput loss = %y",
                       {"[graph] two outputs have the same name, got loss, expected unique names"});
}

TEST(GraphFileErrors, AttributeTwice) {
  expect_graph_refusal("{transpose_b=true}", "{transpose_b=true, transpose_b=false}",
                       {"[attribute] given twice, got 'transpose_b', expected it once"});
}

TEST(GraphFileErrors, SplitGraph) {
  expect_graph_refusal("f32[4,3] batch=0", "f32[4{data},3] batch=0",
                       {"[graph] %x is split, got 'f32[4{data},3]', expected a graph that is not split"});
}

TEST(GraphFileErrors, EmptyImage) {
  expect_graph_refusal(
      "%loss = reduce(%y)",
      "input %none: f32[1,1,0,0]\n%pool = max_pool(%none) {kernel=[2,2], pads=[1,1,1,1]}\n%loss = reduce(%y)",
      {"[max_pool] the input is empty, got a height or width of 0, expected at least 1"});
}

TEST(GraphFileErrors, UnreadableFile) {
  expect_refusal({"graph", "/proc/self/mem"}, ExitCode::missing_file,
                 {"[graph] cannot read /proc/self/mem", "Input/output error"});
}

TEST(GraphFileErrors, NotAGraph) {
  expect_graph_refusal("partita graph 1", "hello", {"[graph line 1] not a graph", "'hello'", "'partita graph 1'"});
}

TEST(GraphFileErrors, OtherVersion) {
  expect_graph_refusal("partita graph 1", "partita graph 2", {"[graph line 1] another version", "'partita graph 1'"});
}

TEST(GraphFileErrors, Cycle) {
  expect_graph_refusal("matmul(%x, %w)", "matmul(%y, %w)", {"[graph line ", "cycle", "%product <- %y <- %product"});
}

TEST(GraphFileErrors, WrongType) {
  expect_graph_refusal("relu(%product) : f32[4,5]", "relu(%product) : f32[4,6]",
                       {"[graph line 6] wrong type of %y = relu", "got f32[4,6]", "expected f32[4,5]"});
}

TEST(GraphFileErrors, ShapesDoNotFit) {
  expect_graph_refusal("f32[5,3] parameter", "f32[5,7] parameter", {"[graph line 5] [matmul]", "[4,3]", "[5,7]"});
}

TEST(GraphFileErrors, UnknownElementType) {
  expect_graph_refusal("f32[4,3] batch", "q32[4,3] batch", {"[graph line 3]", "q32"});
}

TEST(GraphFileErrors, SizesThatOverflow) {
  expect_graph_refusal("f32[4,3] batch", "f32[4294967296,4294967296,4294967296] batch", {"[graph line 3]"});
}

TEST(GraphFileErrors, UnknownOp) {
  expect_graph_refusal("= relu(", "= rellu(", {"[graph line 6]", "unknown op", "'rellu'", "did you mean 'relu'?"});
}

TEST(GraphFileErrors, UnknownAttribute) {
  expect_graph_refusal("transpose_b", "transpose_q",
                       {"[graph line 5] matmul", "transpose_q", "did you mean 'transpose_"});
}

TEST(GraphFileErrors, BadAttributeValue) {
  expect_graph_refusal("transpose_b=true", "transpose_b=maybe",
                       {"[graph line 5] matmul", "got maybe", "expected true or false"});
}

TEST(GraphFileErrors, ValueNeverMade) {
  expect_graph_refusal("relu(%product)", "relu(%nothing)", {"[graph line 6]", "never computed", "%nothing"});
  expect_graph_refusal("loss = %loss", "loss = %lost", {"[graph line 8]", "never computed", "%lost"});
}

TEST(GraphFileErrors, ValueMadeTwice) {
  expect_graph_refusal("%y = relu", "%product = relu", {"[graph line 6]", "defined twice", "%product"});
}

}  // namespace
}  // namespace partita

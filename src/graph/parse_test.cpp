#include <gtest/gtest.h>

#include "graph/builder.h"
#include "ops/registry.h"

namespace partita {
namespace {

constexpr std::string_view kText = R"(partita graph 1
graph small
input %x: f32[4,3] batch=0
state %w: f32[5,3] parameter normal(0,0.1)
state %w.momentum: f32[5,3] optimizer zeros of=w frozen
%matmul = matmul(%x, %w) {transpose_a=false, transpose_b=true} : f32[4,5] ; forward scope=net/fc at=zoo/mlp.cpp:12
%relu = relu(%matmul) : f32[4,5] ; forward
%loss = reduce(%relu) {kind=sum, axes=[0,1], keep_dims=false, scale=0.05} : f32[] ; forward
store %w.momentum = %w
output loss = %loss
)";

std::string message_of(std::string_view text) {
  try {
    parse_graph(text, all_ops());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "accepted";
}

std::string with(std::string_view from, std::string_view to) {
  std::string text(kText);
  return text.replace(text.find(from), from.size(), to);
}

TEST(ParseGraph, PrintsWhatItRead) {
  const Graph graph = parse_graph(kText, all_ops());
  EXPECT_EQ(print(graph), kText);
  EXPECT_EQ(print(parse_graph(print(graph), all_ops())), kText);
}

TEST(ParseGraph, ReadsTheEarlierNameOfAnOptimizerState) {
  const Graph graph = parse_graph(with("f32[5,3] optimizer zeros", "f32[5,3] slot zeros"), all_ops());
  EXPECT_EQ(print(graph), kText);
}

TEST(ParseGraph, ReadsAnySourcePath) {
  for (const std::string file : {"my nets/big one.cpp", "a \"b\".cpp", "c:\\nets\\a.cpp", "line\nbreak.cpp",
                                 "tab\t.cpp", " leading", "trailing ", "semi;colon:7", "\"", "at=x:1 of=y"}) {
    Graph graph = parse_graph(kText, all_ops());
    graph.nodes[1].source = {file, 42};
    const std::string text = print(graph);
    const Graph read = parse_graph(text, all_ops());
    EXPECT_EQ(read.nodes[1].source, graph.nodes[1].source) << text;
    EXPECT_EQ(print(read), text);
  }
}

TEST(ParseGraph, RejectsBrokenSourcePaths) {
  const auto message = [](std::string_view place) { return message_of(with("at=zoo/mlp.cpp:12", place)); };
  EXPECT_NE(message("at=\"zoo/mlp.cpp:12").find("[graph line 6] no end of a quoted path"), std::string::npos);
  EXPECT_NE(message("at=\"zoo/mlp.cpp\\").find("[graph line 6] no end of a quoted path"), std::string::npos);
  EXPECT_NE(message("at=\"zoo/mlp.cpp\"").find("[graph line 6] no line"), std::string::npos);
  EXPECT_NE(message("at=\"zoo\\q.cpp\":12").find("[graph line 6] unknown escape, got '\\q'"), std::string::npos);
}

TEST(ParseGraph, SortsNodesThatStandTooEarly) {
  const Graph graph =
      parse_graph("partita graph 1\ninput %x: f32[2]\n%b = relu(%a)\n%a = exp(%x)\noutput y = %b\n", all_ops());
  EXPECT_EQ(graph.nodes[0].op, "exp");
}

TEST(ParseGraph, NamesTheCycle) {
  const std::string message =
      message_of("partita graph 1\ninput %x: f32[2]\n%a = add(%x, %b)\n%b = relu(%a)\noutput y = %b\n");
  EXPECT_NE(message.find("cycle"), std::string::npos) << message;
  EXPECT_NE(message.find("%a <- %b <- %a"), std::string::npos) << message;
}

TEST(ParseGraph, RejectsEveryMistakeWithItsLine) {
  const auto expect = [](const std::string& message, std::string_view part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect(message_of(with("partita graph 1", "partita graph 2")), "[graph line 1] another version");
  expect(message_of(with("partita graph 1", "hello")), "[graph line 1] not a graph");
  expect(message_of(with("= relu(", "= rellu(")), "did you mean 'relu'");
  expect(message_of(with("= relu(", "= rellu(")), "[graph line 7]");
  expect(message_of(with("relu(%matmul) : f32[4,5]", "relu(%matmul) : f32[4,6]")), "got f32[4,6], expected f32[4,5]");
  expect(message_of(with("f32[5,3] parameter", "f32[5,4] parameter")), "[graph line 6] [matmul]");
  expect(message_of(with("transpose_a", "transpose_q")), "did you mean 'transpose_a'");
  expect(message_of(with("relu(%matmul)", "relu(%mat)")), "used but never made");
  expect(message_of(with("batch=0", "batch=7")), "batch dimension outside");
  expect(message_of(with("f32[4,3] batch", "q32[4,3] batch")), "unknown element type");
  expect(message_of(with("%relu = ", "%matmul = ")), "defined twice");
  expect(message_of(with("store %w.momentum = %w", "store %w = %x")), "stored with another type");
  expect(message_of(with("; forward scope", "; forwards scope")),
         "[graph line 6] unknown property of a node, got 'forwards'");
  expect(message_of(with("scope=", "scopes=")), "[graph line 6] unknown property of a node, got 'scopes'");
  expect(message_of(with("of=w frozen", "of=w frosen")), "[graph line 5] unknown property of a state, got 'frosen'");
  expect(message_of(with("batch=0", "batches=0")), "[graph line 3] unknown property of an input");
  expect(message_of(with("optimizer zeros", "optimiser zeros")),
         "[graph line 5] unknown kind of state, got 'optimiser'");
}

TEST(ParseGraph, SurvivesEveryTruncation) {
  for (size_t length = 0; length < kText.size(); ++length) {
    try {
      parse_graph(kText.substr(0, length), all_ops());
    } catch (const InvalidArgument&) {  // the only thing that may be thrown
    }
  }
}

}  // namespace
}  // namespace partita

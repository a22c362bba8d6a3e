#include <gtest/gtest.h>

#include <chrono>

#include "ir/graph/builder.h"
#include "ir/ops/registry.h"

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
  EXPECT_NE(message("at=\"zoo/mlp.cpp:12").find("[graph line 6] quoted path has no end"), std::string::npos);
  EXPECT_NE(message("at=\"zoo/mlp.cpp\\").find("[graph line 6] quoted path has no end"), std::string::npos);
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
  expect(message_of(with("relu(%matmul)", "relu(%mat)")), "used but never computed");
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

TEST(ParseGraph, RejectsLinesGivenTwice) {
  EXPECT_EQ(message_of(with("graph small", "graph small\ngraph other")),
            "[graph line 3] given twice, got 'graph', expected it once");
  EXPECT_EQ(message_of(with("graph small", "mesh data=2\nmesh data=3")),
            "[graph line 3] given twice, got 'mesh', expected it once");
}

TEST(ParseGraph, RejectsAttributesThatAreNone) {
  EXPECT_NE(
      message_of(with("transpose_a=false", "transpose_a")).find("no value, got 'transpose_a', expected name=value"),
      std::string::npos);
  try {
    all_ops().at("matmul").attrs.parse("transpose_a");
    ADD_FAILURE() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "[attribute] not a list of attributes, got 'transpose_a', expected {name=value, ...}");
  }
}

TEST(ParseGraph, RejectsBadInitializers) {
  for (const auto& [init, message] : std::vector<std::pair<std::string, std::string>>{
           {"normal(0)", "got normal(0), expected 2 finite numbers, sigma >= 0"},
           {"normal(nan,1)", "got normal(nan, 1), expected 2 finite numbers, sigma >= 0"},
           {"truncated_normal(0,-1)", "got truncated_normal(0, -1), expected 2 finite numbers, sigma >= 0"},
           {"uniform(3,-1)", "got uniform(3, -1), expected 2 finite numbers, low <= high"},
           {"constant", "got constant(), expected 1 finite number"},
           {"constant(inf)", "got constant(inf), expected 1 finite number"},
           {"zeros(1)", "got zeros(1), expected none"}}) {
    EXPECT_EQ(message_of(with("normal(0,0.1)", init)), "[graph line 4] [initializer] bad arguments, " + message);
  }
  EXPECT_EQ(message_of(with("normal(0,0.1)", "normal(0,x)")).substr(0, 14), "[graph line 4]");
}

TEST(ParseGraph, RejectsTooManyDimensions) {
  const auto ones = [](size_t count) {
    std::string text = "1";
    while (--count > 0) text += ",1";
    return text;
  };
  const auto graph = [](const std::string& shape, const std::string& node) {
    return fmt::format("partita graph 1\ninput %x: f32[{}]\n%y = {}\noutput y = %y\n", shape, node);
  };
  const std::string most = ones(kMaxDims), more = ones(kMaxDims + 1);
  EXPECT_EQ(message_of(graph(most, "relu(%x)")), "accepted");
  const std::string refused = message_of(graph(more, "relu(%x)"));
  EXPECT_TRUE(refused.starts_with("[graph line 2] [type] more than 20 dimensions, got 'f32[1,1,")) << refused;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_NE(message_of(graph(ones(200'000), "relu(%x)")).find("more than 20 dimensions"), std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));  // without a limit it takes 52
  EXPECT_EQ(message_of(graph(most, fmt::format("reshape(%x) {{shape=[{}]}}", more))),
            "[graph line 3] [reshape] result has too many dimensions, got 21, expected at most 20");
  Builder builder(all_ops());
  try {
    builder.input("x", {DType::f32, Shape(kMaxDims + 1, 1)});
    ADD_FAILURE() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "[graph] 'x' has too many dimensions, got 21, expected at most 20");
  }
}

TEST(ParseGraph, SurvivesEveryTruncation) {
  for (size_t length = 0; length < kText.size(); ++length) {
    try {
      parse_graph(kText.substr(0, length), all_ops());
    } catch (const InvalidArgument&) {  // no other exception may be thrown
    }
  }
}

}  // namespace
}  // namespace partita

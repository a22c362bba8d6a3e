#include "compiler/emit/recompute_barriers.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "ir/ops/registry.h"
#include "runtime/device/xla/xla_device.h"

namespace partita {
namespace {

/// Three layers; the second is recomputed if `recompute` is its mark.
std::string text_of_training(const std::string& recompute) {
  const std::string graph = fmt::format(
      "partita graph 1\ngraph net\ninput %x: f64[8,6] batch=0\n"
      "state %u: f64[6,6] parameter normal(0,1)\nstate %v: f64[6,6] parameter normal(0,1)\n"
      "state %w: f64[6,6] parameter normal(0,1)\n"
      "%a = matmul(%x, %u) : f64[8,6] ; forward scope=net/0\n"
      "%b = matmul(%a, %v) : f64[8,6] ; forward scope=net/1{0}\n"
      "%c = tanh(%b) : f64[8,6] ; forward scope=net/1{0}\n"
      "%e = exp(%c) : f64[8,6] ; forward scope=net/1{0}\n"
      "%d = matmul(%e, %w) : f64[8,6] ; forward scope=net/2\n"
      "%s = square(%d) : f64[8,6] ; forward scope=net/2\n"
      "%loss = reduce(%s) {{axes=[0,1], scale=0.1}} : f64[] ; forward scope=net/2\noutput loss = %loss\n",
      recompute);
  const auto device = make_device(all_ops(), {.name = "xla:cpu"});
  TrainingOptions training;
  training.optimizer = {.kind = OptimizerKind::sgd};
  const Program program = compile(parse_graph(graph, all_ops()), all_ops(), device->catalog(), {.training = training});
  const Schedule& schedule = program.schedule();
  std::string text;
  const Segmenter segmenter(schedule, program.local(), all_ops());
  for (const Segment& segment : segmenter.segments({schedule.begins.begin(), schedule.begins.end()})) {
    text += segmenter.module_of(segment, program.local().mesh.coordinates(0, 0));
  }
  return text;
}

std::vector<std::string> lines_with(const std::string& text, const std::string& part) {
  std::vector<std::string> lines;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    const size_t begin = text.rfind('\n', at) + 1;
    lines.push_back(text.substr(begin, text.find('\n', at) - begin));
  }
  return lines;
}

TEST(RecomputeBarriers, StandBeforeWhatIsRecomputed) {
  EXPECT_TRUE(lines_with(text_of_training(""), "optimization_barrier").empty());
  const std::string text = text_of_training(" recompute=layer");
  const std::vector<std::string> barriers = lines_with(text, "optimization_barrier");
  ASSERT_EQ(barriers.size(), 1U) << text;
  EXPECT_NE(barriers[0].find(":3 = "), std::string::npos) << "two operands of the product and a gradient: " << text;
  const std::vector<std::string> products = lines_with(text, "stablehlo.dot_general");
  const std::string name = barriers[0].substr(barriers[0].find('%'), barriers[0].find(':') - barriers[0].find('%'));
  const auto recomputed = std::ranges::find_if(
      products, [&](const std::string& line) { return line.find(name + "#0, " + name + "#1") != std::string::npos; });
  ASSERT_NE(recomputed, products.end()) << text;
  EXPECT_EQ(lines_with(text, "stablehlo.tanh").size(), 2U) << text;
  // The gradient is one that the first user of what is recomputed takes.
  const std::string operands = barriers[0].substr(barriers[0].find("optimization_barrier") + 21);
  const std::string third = operands.substr(operands.rfind('%', operands.find(" : ")));
  const std::string gradient = third.substr(0, third.find(' '));
  EXPECT_EQ(lines_with(text.substr(0, text.find(barriers[0])), "    " + gradient + " = ").size(), 1U) << text;
  const std::string rest = text.substr(text.find(barriers[0]) + barriers[0].size());
  EXPECT_FALSE(lines_with(rest, "stablehlo.multiply " + gradient + ", ").empty()) << text;
}

}  // namespace
}  // namespace partita

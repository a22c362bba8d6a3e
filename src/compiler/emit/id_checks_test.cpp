#include "compiler/emit/id_checks.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/emit/segments.h"
#include "ir/ops/registry.h"
#include "runtime/device/xla/xla_device.h"

namespace partita {
namespace {

/// The training of a graph on an accelerator, with two micro-batches.
Program program_with_ids(const std::string& body, int ranks) {
  const auto device = make_device(all_ops(), {.name = "xla:cpu"});
  const Graph graph = parse_graph(
      "partita graph 1\ngraph ids\ninput %x: f64[8] batch=0\ninput %i: i32[8] batch=0\n"
      "state %w: f64[5,4] parameter normal(0,1)\nstate %v: f64[4,3] parameter normal(0,1)\n" +
          body +
          "%square = square(%y) : f64[8,3]\n"
          "%loss = reduce(%square) {axes=[0,1], scale=0.1} : f64[]\noutput loss = %loss\n",
      all_ops());
  return compile(graph, all_ops(), device->catalog(),
                 {.ranks = ranks, .mesh = Mesh({{"data", ranks}}), .plan = {.micro_batches = 2}});
}

constexpr const char* kOfInput =
    "%a = embedding(%w, %i) : f64[8,4]\n%z = embedding(%v, %i) : f64[8,3]\n%b = matmul(%a, %v) : f64[8,3]\n"
    "%y = add(%b, %z) : f64[8,3]\n";
constexpr const char* kOfProgram =
    "%ids = cast(%x) {dtype=i32} : i32[8]\n%a = embedding(%w, %ids) : f64[8,4]\n%z = embedding(%v, %ids) : f64[8,3]\n"
    "%b = matmul(%a, %v) : f64[8,3]\n%y = add(%b, %z) : f64[8,3]\n";

/// Returns the names of the checked nodes.
std::vector<std::string> checked_nodes(const Program& program, bool in_program) {
  std::vector<std::string> names;
  const Segmenter segmenter(program.schedule(), program.local(), all_ops());
  for (const IdCheck& check : segmenter.id_checks()) {
    const NodeId node = program.schedule().instructions[check.instruction].node;
    if (check.in_program == in_program) names.push_back(program.local().graph.nodes[node].name);
  }
  return names;
}

using Names = std::vector<std::string>;

// The tables have different numbers of rows. The backward pass takes the same ids again.
TEST(IdChecks, EachPlaceIsCheckedOnceForALimit) {
  for (const int ranks : {1, 2}) {
    const Program of_input = program_with_ids(kOfInput, ranks), of_program = program_with_ids(kOfProgram, ranks);
    EXPECT_EQ(checked_nodes(of_input, false), (Names{"a", "z"}));
    EXPECT_EQ(checked_nodes(of_input, true), Names{});
    EXPECT_EQ(checked_nodes(of_program, false), Names{});
    EXPECT_EQ(checked_nodes(of_program, true), (Names{"a", "z"}));
  }
}

TEST(IdChecks, ProgramsGiveTheirFlags) {
  const Program program = program_with_ids(kOfProgram, 1);
  const Schedule& schedule = program.schedule();
  const Segmenter segmenter(schedule, program.local(), all_ops());
  size_t checks = 0;
  for (const Segment& segment : segmenter.segments({schedule.begins.begin(), schedule.begins.end()})) {
    checks += segment.checks.size();
    const std::string text = segmenter.module_of(segment, program.local().mesh.coordinates(0));
    const std::string results =
        text.substr(text.find(") -> ("), text.find('\n', text.find(") -> (")) - text.find(") -> ("));
    size_t count = 0;
    for (size_t at = results.find("tensor<"); at != std::string::npos; at = results.find("tensor<", at + 1)) ++count;
    EXPECT_EQ(count, segment.outputs.size() + (segment.checks.empty() ? 0 : 1)) << results;
    EXPECT_EQ(results.ends_with(fmt::format("tensor<{}xi64>) {{", 2 * segment.checks.size())), !segment.checks.empty())
        << results;
    for (const size_t i : segment.checks) EXPECT_TRUE(segmenter.segment_of(i).checks.empty());
  }
  EXPECT_EQ(checks, 2u);
}

}  // namespace
}  // namespace partita

#include "compiler/partition/prologue.h"

#include <gtest/gtest.h>

#include "base/test_refusal.h"
#include "compiler/partition/sections.h"
#include "ir/ops/registry.h"
#include "support/texts/texts.h"

namespace partita {
namespace {

/// x divided by the root of the sum of its squares over the batch.
constexpr const char* kRelative = R"(partita graph 1
graph relative
mesh data=2 | micro=2
input %x: f64[8{micro,data}] batch=0
%square = square(%x) : f64[8{micro,data}] ; forward cut a={micro,data}
%sum = reduce(%square) {axes=[0]} : f64[] +sum{data,micro} ; forward cut a={micro,data}
%all = accumulate(%sum) {axes=["micro"], reduce=sum} : f64[] +sum{data} ; forward
%ranks = all_reduce(%all) {axes=["data"], reduce=sum} : f64[] ; forward
%root = sqrt(%ranks) : f64[] ; forward
%relative = div(%x, %root) : f64[8{micro,data}] ; forward cut a={micro,data}
%loss = reduce(%relative) {axes=[0]} : f64[] +sum{data,micro} ; forward cut a={micro,data}
%loss.all = accumulate(%loss) {axes=["micro"], reduce=sum} : f64[] +sum{data} ; forward
%loss.ranks = all_reduce(%loss.all) {axes=["data"], reduce=sum} : f64[] ; forward
output loss = %loss.ranks
)";

std::map<std::string, std::string> sections_by_name(const LocalGraph& local) {
  const std::vector<Section> sections = sections_of(local);
  std::map<std::string, std::string> result;
  for (size_t n = 0; n < sections.size(); ++n) result[local.graph.nodes[n].name] = name_of(sections[n]);
  return result;
}

TEST(Prologue, IsWhatLeadsToWhatMicroBatchesNeed) {
  const LocalGraph local = parse_local_graph(kRelative, all_ops());
  const std::map<std::string, std::string> expected{
      {"square", "prologue"}, {"sum", "prologue"}, {"all", "prologue"},   {"ranks", "joined"},   {"root", "joined"},
      {"relative", "micro"},  {"loss", "micro"},   {"loss.all", "micro"}, {"loss.ranks", "late"}};
  EXPECT_EQ(sections_by_name(local), expected);
  EXPECT_EQ(print(with_own_prologue(local), all_ops()), print(local, all_ops()));
}

// A slice that both loops use, and what leads to it, is copied. What only the prologue uses is not.
TEST(Prologue, SharesNothingWithTheMicroBatches) {
  const std::string twice = "%twice = add(%x, %x) : f64[8{micro,data}] ; forward cut a={micro,data}\n";
  const std::string text = replaced(replaced(kRelative, "%square = square(%x)", twice + "%square = square(%twice)"),
                                    "div(%x, %root)", "div(%twice, %root)");
  EXPECT_THROW(parse_local_graph(text, all_ops()), InvalidArgument);
  // A graph as a plan gives it, before `with_own_prologue`: micro-batches use the prologue's %twice, not %again.
  LocalGraph shared = parse_local_graph(
      replaced(replaced(text, "%square =",
                        "%again = add(%x, %x) : f64[8{micro,data}] ; forward cut a={micro,data}\n%square ="),
               "div(%twice", "div(%again"),
      all_ops());
  Graph& graph = shared.graph;
  const ValueId twice_value = graph.nodes[0].outputs[0], again_value = graph.nodes[1].outputs[0];
  for (Node& node : graph.nodes) std::ranges::replace(node.inputs, again_value, twice_value);
  const LocalGraph own = with_own_prologue(shared);
  auto sections = sections_by_name(own);
  EXPECT_EQ(own.graph.nodes.size(), graph.nodes.size() + 1);
  EXPECT_EQ(sections.at("twice"), "micro");
  EXPECT_EQ(sections.at("twice.prologue"), "prologue");
  EXPECT_EQ(sections.at("square"), "prologue");
  EXPECT_EQ(sections.count("square.prologue"), 0u);
  const std::string printed = print(own, all_ops());
  EXPECT_NE(printed.find("square(%twice.prologue)"), std::string::npos) << printed;
  EXPECT_EQ(print(parse_local_graph(printed, all_ops()), all_ops()), printed);
}

}  // namespace
}  // namespace partita

// Graphs and local graphs that no model makes, on ranks against the interpreter.

#include <gtest/gtest.h>

#include "compiler/partition/collectives.h"
#include "ir/ops/registry.h"
#include "support/interpreted.h"
#include "support/texts/texts.h"

namespace partita {
namespace {

Program expect_interpreted(const std::string& text, int ranks, KernelSet kernels, const PlanOptions& plan = {}) {
  return expect_interpreted(parse_graph(text, all_ops()), {.ranks = ranks, .kernels = kernels, .plan = plan});
}

/// The collectives of the local graph, in order.
std::vector<std::string> collectives(const Program& program) {
  std::vector<std::string> kinds;
  for (const Node& node : program.local().graph.nodes) {
    if (is_collective(node)) kinds.push_back(node.op);
  }
  return kinds;
}

// All stores happen at once: what another state, or an output, takes is the old value.
constexpr const char* kSwap = R"(partita graph 1
graph swap
input %x: f64[4]
state %a: f64[4] parameter normal(0,1)
state %b: f64[4] parameter normal(0,1)
state %previous: f64[4] statistic zeros
state %mean: f64[4] statistic zeros
%sum = add(%a, %x) : f64[4]
%next = add(%mean, %x) : f64[4] ; update
%loss = reduce(%sum) {kind=sum, axes=[0]} : f64[]
store %a = %b
store %b = %a
store %previous = %mean
store %mean = %next
output loss = %loss
output old = %a
output mean = %mean
)";

TEST(HandWritten, StatesAreStoredAtOnce) {
  for (const KernelSet kernels : {KernelSet::fast, KernelSet::reference}) {
    for (int ranks : {1, 2}) expect_interpreted(kSwap, ranks, kernels);
  }
}

// A gathered value of few bytes whose part is needed no more: the gather must not write where it reads.
constexpr const char* kGather = R"(partita graph 1
graph gather
input %x: f64[4,2] batch=0
state %w: f64[3] statistic zeros
%q = reduce(%x) {kind=sum, axes=[1]} : f64[4]
%head = slice(%q) {begin=[0], end=[3]} : f64[3]
%loss = reduce(%q) {kind=sum, axes=[0]} : f64[]
store %w = %head
output loss = %loss
)";

TEST(HandWritten, SmallPartsAreGathered) {
  for (int ranks : {1, 2, 4}) expect_interpreted(kGather, ranks, KernelSet::fast);
}

// No rows at all: nothing to cut, and sums of nothing.
constexpr const char* kNoRows = R"(partita graph 1
graph empty
input %x: f64[0,3] batch=0
state %w: f64[5,3] parameter normal(0,1)
state %seen: f64[5] statistic zeros
%y = matmul(%x, %w) {transpose_b=true} : f64[0,5]
%sum = reduce(%y) {kind=sum, axes=[0]} : f64[5]
%loss = reduce(%sum) {kind=sum, axes=[0]} : f64[]
store %seen = %sum
output loss = %loss
output y = %y
)";

TEST(HandWritten, ABatchOfNoRows) {
  for (const Parallel parallel : {Parallel::data, Parallel::hybrid, Parallel::semi, Parallel::automatic}) {
    for (int ranks : {1, 2, 6}) expect_interpreted(kNoRows, ranks, KernelSet::fast, {.parallel = parallel});
  }
}

/// "all_reduce(%from) over one axis", and the sums that are left.
std::string reduced(const std::string& to, const std::string& from, const std::string& axis, const std::string& left,
                    const std::string& phase) {
  return fmt::format("%{} = all_reduce(%{}) {{axes=[\"{}\"], reduce=sum, reason=\"gradient\"}} : f64[3]{} ; {}\n", to,
                     from, axis, left, phase);
}

// A sum over three axes that is formed one axis after the other, where its reader is in the update (so that the last
// can be overlapped with other work) and where it is not, next to a sum that is formed at once.
TEST(HandWritten, ChainsOfReductions) {
  for (const char* phase : {"backward", "forward"}) {
    for (const char* reader : {"update", "backward"}) {
      const std::string text =
          R"(partita graph 1
graph chain
mesh a=2 b=2 c=2
input %x: f64[8{a,b,c},3] batch=0
state %w: f64[3] statistic zeros
%sum = reduce(%x) {kind=sum, axes=[0]} : f64[3] +sum{a,b,c} ; backward cut a={a,b,c}
%more = reduce(%x) {kind=sum, axes=[0], scale=3} : f64[3] +sum{a,b,c} ; backward cut a={a,b,c}
)" + reduced("sum.a", "sum", "a", " +sum{b,c}", phase) +
          reduced("sum.b", "sum.a", "b", " +sum{c}", phase) + reduced("sum.c", "sum.b", "c", "", phase) +
          R"(%more.all = all_reduce(%more) {axes=["a","b","c"], reduce=sum, reason="gradient"} : f64[3] ; backward
%y = relu(%x) : f64[8{a,b,c},3] ; backward cut a={a,b,c}
)" + fmt::format("%next = add(%sum.c, %more.all) : f64[3] ; {}\n", reader) +
          "store %w = %next\noutput y = %y\noutput next = %next\n";
      const LocalGraph local = parse_local_graph(text, all_ops());
      for (const bool overlap : {true, false}) {
        const Schedule schedule = expect_interpreted(local, {}, {.overlap = overlap});
        EXPECT_EQ(print(parse_schedule(print(schedule, local), local), local), print(schedule, local));
        const auto started = std::count_if(schedule.instructions.begin(), schedule.instructions.end(),
                                           [](const Instruction& one) { return one.kind == Instruction::start; });
        EXPECT_EQ(started > 0, overlap && std::string(reader) == "update") << print(schedule, local);
      }
    }
  }
}

const PlanOptions kSemi{.parallel = Parallel::semi, .dataset = DatasetSharding::full_batch()};

// Parts on both sides of a reshape that fit no common refinement: what lies between is gathered.
std::string reshaped(const std::string& from, const std::string& first, const std::string& to,
                     const std::string& second) {
  return fmt::format(R"(partita graph 1
graph reshaped
input %x: f64[{0}]
state %y: f64[{2}] statistic zeros
%a = relu(%x) : f64[{0}] ; forward shard={1}
%b = reshape(%a) {{shape=[{2}]}} : f64[{2}]
%c = relu(%b) : f64[{2}] ; forward shard={3}
store %y = %c
)",
                     from, first, to, second);
}

TEST(Documented, ReshapesBetweenPartsThatDoNotFit) {
  expect_interpreted(reshaped("4,3", "((4,1))", "3,4", "((1,4))"), 4, KernelSet::reference, kSemi);
  expect_interpreted(reshaped("2,2,3", "((2,2,1))", "3,4", "((1,4))"), 4, KernelSet::reference, kSemi);
  // Rows in eight parts become rows in two, and the reshape between is cut as far as both sides are.
  const Program program =
      expect_interpreted(reshaped("2,8,10", "((2,4,1))", "16,10", "((2,1))"), 8, KernelSet::reference,
                         {.parallel = Parallel::automatic, .dataset = DatasetSharding::full_batch()});
  for (const Node& node : program.local().graph.nodes) {
    if (!performs(node, Collective::all_gather) || node.name.starts_with("c.")) continue;
    EXPECT_EQ(program.local().mesh.ways(axes_of(node, program.local().mesh)), 4) << print(program.local(), all_ops());
  }
}

// A product whose result is wanted in parts of rows: summed and scattered at once, and used as it lies.
TEST(Documented, AResultLaidOutIsScattered) {
  const Program program = expect_interpreted(R"(partita graph 1
graph product
input %x: f64[8,6]
input %w: f64[6,4]
input %z: f64[8,4]
state %y: f64[8,4] statistic zeros
%a = matmul(%x, %w) : f64[8,4] ; forward shard=((2,2),(2,2))->((4,2))
%b = mul(%a, %z) : f64[8,4] ; forward shard=((4,2),(4,2))
store %y = %b
)",
                                             8, KernelSet::reference, kSemi);
  const std::vector<std::string> kinds = collectives(program);
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "reduce_scatter"), 1);
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "all_reduce"), 0);
}

// Refused in the documented system for a lookup in three parts before a product in twenty-four: here the values between
// are resharded.
TEST(Documented, TwentyFourRanks) {
  const auto net = [](const std::string& lookup, const std::string& product, const std::string& rest) {
    return fmt::format(R"(partita graph 1
graph rows
input %ids: i32[192]
state %table: f64[192,96] parameter normal(0,1)
state %w: f64[96,96] parameter normal(0,1)
state %m: f64[192,96] parameter normal(0,1)
state %y: f64[] statistic zeros
%a = embedding(%table, %ids) : f64[192,96] ; forward shard={}
%b = matmul(%a, %w) : f64[192,96] ; forward shard={}
%c = mul(%b, %m) : f64[192,96] ; forward shard={}
%d = reduce(%c) {{kind=sum, axes=[0,1]}} : f64[]
store %y = %d
)",
                       lookup, product, rest);
  };
  expect_interpreted(net("((1,1),(24))", "((24,1),(1,1))", "((24,1),(24,1))"), 24, KernelSet::reference, kSemi);
  expect_interpreted(net("((3,1),(1))", "((8,3),(3,1))", "((8,3),(8,3))"), 24, KernelSet::reference, kSemi);
}

}  // namespace
}  // namespace partita

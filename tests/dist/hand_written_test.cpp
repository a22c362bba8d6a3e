// Graphs and local graphs that no model makes, on ranks against the interpreter.

#include <gtest/gtest.h>

#include "base/philox.h"
#include "comm/run_ranks.h"
#include "execute/executor.h"
#include "execute/interpreter.h"
#include "execute/shard_copy.h"
#include "ops/registry.h"
#include "support/job.h"

namespace partita {
namespace {

/// Runs two steps on `ranks` ranks from random states and inputs and compares states and outputs, on every rank,
/// with the interpreter.
void expect_interpreted(const std::string& text, int ranks, KernelSet kernels) {
  const Graph graph = parse_graph(text, all_ops());
  const auto device = make_cpu_device(all_ops(), 1, kernels);
  const Mesh mesh = ranks > 1 ? Mesh({{"data", ranks}}) : Mesh();
  const Program program =
      compile(graph, all_ops(), mesh, device->catalog(), {.plan = {.parallel = ranks > 1 ? "data" : "none"}});
  const LocalGraph& local = program.local;
  Arrays given;
  for (const Input& input : local.graph.inputs) {
    const std::string& name = local.graph.values[input.value].name;
    given.emplace(name, random_array(local.graph.type(input.value), random_key(1, name)));
  }
  for (const State& state : local.graph.states) {
    const std::string& name = local.graph.values[state.entry].name;
    given.emplace(name, random_array(local.graph.type(state.entry), random_key(1, name)));
  }
  Arrays wanted = given;
  Interpretation oracle;
  for (int step = 0; step < 2; ++step) {
    oracle = interpret_all(graph, all_ops(), wanted);
    for (const auto& [name, value] : oracle.states) wanted.insert_or_assign(name, value);
  }
  run_ranks(ranks, [&](Communicator& world) {
    const auto own = make_cpu_device(all_ops(), 1, kernels);
    Executor executor(local, program.schedule, all_ops(), *own, world);
    for (const State& state : local.graph.states) {
      const std::string& name = local.graph.values[state.entry].name;
      executor.set_state(name, given.at(name));
    }
    for (const Input& input : local.graph.inputs) {
      const std::string& name = local.graph.values[input.value].name;
      Array part(executor.input_type(name));
      copy_part(given.at(name).tensor(),
                held(local.graph.type(input.value), local.shardings[input.value], mesh, mesh.coordinates(world.rank())),
                part.data());
      executor.set_input(name, std::as_const(part).tensor());
    }
    for (int step = 0; step < 2; ++step) executor.run();
    for (const auto& [name, value] : oracle.states) {
      EXPECT_LE(relative_error(executor.state(name), value), 1e-12) << name << " on rank " << world.rank();
    }
    for (const auto& [name, value] : oracle.outputs) {
      const Array got = executor.output(name);
      if (got.type() != value.type()) continue;  // the rows of one rank
      EXPECT_LE(relative_error(got, value), 1e-12) << name << " on rank " << world.rank();
    }
  });
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

}  // namespace
}  // namespace partita

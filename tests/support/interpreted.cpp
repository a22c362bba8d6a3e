#include "support/interpreted.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/philox.h"
#include "compiler/partition/collectives.h"
#include "compiler/search/make_plan.h"
#include "ir/ops/registry.h"
#include "runtime/comm/run_ranks.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/interpreter.h"
#include "runtime/execute/shard_copy.h"
#include "support/job.h"
#include "support/texts/texts.h"

namespace partita {
namespace {

const std::string& name_of(const Graph& graph, ValueId value) { return graph.values[value].name; }

Arrays random_entries(const Graph& graph, const InterpretedRun& run) {
  Arrays given;
  if (run.initial_states) given = initial_states(graph, /*seed=*/1);
  for (const Input& input : graph.inputs) {
    const std::string& name = name_of(graph, input.value);
    given.emplace(name, random_array(graph.type(input.value), random_key(1, name), run.below));
  }
  for (const State& state : graph.states) {
    const std::string& name = name_of(graph, state.entry);
    given.try_emplace(name, random_array(graph.type(state.entry), random_key(1, name)));
  }
  return given;
}

void run_steps(Executor& executor, const LocalGraph& local, const Arrays& given, int rank, int steps) {
  for (const State& state : local.graph.states) {
    const std::string& name = name_of(local.graph, state.entry);
    executor.set_state(name, given.at(name));
  }
  for (const Input& input : local.graph.inputs) {
    const std::string& name = name_of(local.graph, input.value);
    Array part(executor.input_type(name));
    copy_part(given.at(name).tensor(),
              local_ranges(local.graph.type(input.value), local.shardings[input.value], local.mesh,
                           local.mesh.coordinates(rank)),
              part.data());
    executor.set_input(name, std::as_const(part).tensor());
  }
  for (int step = 0; step < steps; ++step) executor.run();
}

bool all_finite(const Array& array) {
  for (int64_t i = 0; i < array.type().elements(); ++i) {
    if (!std::isfinite(array.at(i))) return false;
  }
  return true;
}

/// Relative error of an array. If `wanted` is not finite it is 0 if `got` is not finite either, else infinite.
double error_of(const Array& got, const Array& wanted) {
  if (!all_finite(wanted)) return all_finite(got) ? INFINITY : 0;
  return relative_error(got, wanted);
}

/// A local graph to run, and the graph that it must compute.
struct Case {
  const LocalGraph& local;
  const Schedule& schedule;
  const Graph& graph;
  const OpSet& ops;
};

void expect_interpreted(const Case& made, const InterpretedRun& run) {
  const Arrays given = random_entries(made.graph, run);
  Arrays wanted = given;
  Interpretation oracle;
  for (int step = 0; step < run.steps; ++step) {
    oracle = interpret_all(made.graph, made.ops, wanted);
    for (const auto& [name, value] : oracle.states) wanted.insert_or_assign(name, value);
  }
  run_ranks(static_cast<int>(made.local.mesh.ranks()), [&](Communicator& world) {
    const auto own = make_cpu_device(all_ops(), 1, run.kernels);
    Executor executor(made.local, made.schedule, all_ops(), *own, world);
    run_steps(executor, made.local, given, world.rank(), run.steps);
    for (const auto& [name, value] : oracle.states) {
      EXPECT_LE(error_of(executor.state(name), value), run.tolerance) << name << " on rank " << world.rank();
    }
    for (const auto& [name, value] : oracle.outputs) {
      const Array got = executor.output(name);
      if (got.type() != value.type()) continue;  // the rows of one rank
      EXPECT_LE(error_of(got, value), run.tolerance) << name << " on rank " << world.rank();
    }
  });
}

/// The ops, and collectives as on one rank.
OpSet with_identities() {
  std::vector<OpDef> ops = with_collectives(all_ops()).all();
  for (OpDef& op : ops) {
    if (op.kernel) continue;
    op.kernel = [](const Attrs&, Inputs in, Outputs out) { std::memcpy(out[0].data, in[0].data, in[0].type.bytes()); };
  }
  return OpSet(std::move(ops));
}

}  // namespace

Program expect_interpreted(const Graph& graph, const InterpretedRun& run) {
  const auto device = make_cpu_device(all_ops(), 1, run.kernels);
  Program program = compile(graph, all_ops(), device->catalog(), {.ranks = run.ranks, .plan = run.plan});
  expect_interpreted(Case{program.local(), program.schedule(), program.graph, all_ops()}, run);
  return program;
}

Schedule expect_interpreted(const LocalGraph& local, const InterpretedRun& run, const ScheduleOptions& options) {
  const auto device = make_cpu_device(all_ops(), 1, run.kernels);
  Schedule schedule = make_schedule(local, all_ops(), device->catalog(), options);
  verify(schedule, local);
  expect_interpreted(Case{local, schedule, local.graph, with_identities()}, run);
  return schedule;
}

}  // namespace partita

#include "training/stepper.h"

#include <algorithm>
#include <map>

#include "compiler/autodiff/training_graph.h"
#include "compiler/partition/collectives.h"
#include "frontend/network/functions.h"
#include "ir/graph/rewrite.h"
#include "ir/ops/constant.h"
#include "ir/ops/registry.h"
#include "job/norm_values.h"
#include "job/precision_options.h"
#include "runtime/comm/inproc/inproc.h"
#include "runtime/launch/fingerprint.h"
#include "runtime/launch/refusal.h"
#include "runtime/launch/run_process.h"

namespace partita {
namespace {

/// Makes the graph increment counters that no node writes, so that they count its runs.
void count_calls(Builder& builder) {
  const std::vector<State> states = builder.graph().states;  // a copy: nodes that are added may move them
  for (const State& state : states) {
    if (state.kind != StateKind::counter || state.exit >= 0) continue;
    const Value count = builder.value(state.entry);
    builder.scope.clear();
    builder.phase = Phase::update;
    builder.store(count, builder.apply("add", {count, constant(builder, 1, count.type())}));
  }
}

/// Returns the graph in which inputs replace values that another program has computed (`Context::give`).
Graph with_given_values(const Graph& graph, const std::vector<std::pair<ValueId, ValueId>>& given) {
  Rewrite rewrite(graph, all_ops());
  std::map<ValueId, ValueId> inputs(given.begin(), given.end());
  for (const Node& node : graph.nodes) {
    rewrite.set(node, rewrite.builder().copy_node(graph, node, rewrite[node.inputs]));
    for (const ValueId made : node.outputs) {
      if (const auto found = inputs.find(made); found != inputs.end()) rewrite.set(made, rewrite[found->second]);
    }
  }
  for (const State& state : graph.states) {  // a state cannot become an input itself
    if (!inputs.contains(state.exit)) continue;
    rewrite.builder().phase = Phase::update;
    rewrite.set(state.exit, reshape(rewrite[state.exit], graph.type(state.exit).shape));
  }
  return rewrite.finish();
}

Graph built_graph(const JobConfig& config, const Stepper::Build& build, int64_t statistics_groups) {
  Builder builder(all_ops(), "step");
  Context context(builder, {.dtype = config.training.dtype,
                            .training = true,
                            .statistics_groups = statistics_groups,
                            .seed = config.training.seed});
  builder.scope = "net";
  build(context);
  context.store_statistics();
  if (!context.states_are_frozen()) count_calls(builder);
  if (builder.graph().outputs.empty()) {
    throw InvalidArgument("[step] nothing to compute, got no outputs, expected at least 1");
  }
  Graph graph = builder.take();
  if (context.states_are_frozen()) {
    for (State& state : graph.states) state.exit = -1;
  }
  if (!context.given().empty()) graph = with_given_values(graph, context.given());
  graph = remove_dead_nodes(std::move(graph));
  const bool learns = std::ranges::any_of(graph.nodes, [](const Node& node) {
    return node.phase == Phase::backward && all_ops().at(node.op).traits.batch_statistics;
  });
  if (learns) require_several_values(graph, all_ops(), /*micro_batches=*/1);
  return finish_training_graph(std::move(graph), all_ops(), precision_options(config.training, context.precisions()));
}

bool communicates(const Program& program) {
  return program.stages.size() > 1 || std::ranges::any_of(program.stages, [](const StageProgram& stage) {
           const std::vector<Node>& nodes = stage.local.graph.nodes;
           return std::ranges::any_of(nodes, is_collective);
         });
}

}  // namespace

Stepper::Stepper(const JobConfig& given, const Place& place, const Build& build, const std::function<States()>& initial,
                 int64_t statistics_groups) {
  const JobConfig config = completed(given, place);
  const int64_t ranks = place.ranks();
  const GraphRequest request{
      .forward = [&] { return built_graph(config, build, statistics_groups); }, .ranks = ranks, .is_finished = true};
  program_ = telling_refusals(place, [&] { return make_program(config, request); });
  States states = initial();
  add_initial_states(states, program_.graph, config.training.seed);
  require_types(states, program_.graph);
  if (ranks > 1) {
    world_ = &process_world(*place.launched);
  } else {
    own_world_ = make_inproc_world(1);
    world_ = own_world_[0].get();
  }
  if (ranks > 1 && communicates(program_)) {
    const LaunchFingerprint fingerprint{{"graph", print_digest(digest_of(print(program_.graph)))},
                                        {"seed", fmt::format("{}", config.training.seed)},
                                        {"values of parameters and constants", print_digest(digest_of(states))}};
    run_process(*world_, [&](Communicator& comm) { require_same_fingerprint(fingerprint, comm); });
  }
  rank_.emplace(program_, states, rank_options_of(config.ranks), *world_);
}

std::vector<Array> Stepper::run(const NamedArrays& inputs) {
  Batch batch;
  for (const auto& [name, array] : inputs) {
    batch.columns.push_back({name, array.type()});
    batch.arrays.push_back(array);
  }
  for (const Input& input : program_.graph.inputs) {
    const std::string& name = program_.graph.values[static_cast<size_t>(input.value)].name;
    const bool given = std::ranges::any_of(inputs, [&](const auto& entry) { return entry.first == name; });
    if (given) continue;
    throw InvalidArgument(ErrorKind::key, "[step] no value for an input, got {} values, expected one for '{}'",
                          inputs.size(), name);
  }
  std::vector<Array> outputs;
  const auto take_step = [&](Communicator&) {
    rank_->feed(batch);
    rank_->executor().run();
    for (const Output& output : program_.graph.outputs) outputs.push_back(rank_->executor().output(output.name));
  };
  if (own_world_.empty()) {
    run_process(*world_, take_step);
  } else {
    take_step(*world_);
  }
  return outputs;
}

void Stepper::set_state(const std::string& name, const Array& whole) {
  const State* state = program_.graph.find_state(name);
  if (state == nullptr) {
    std::vector<std::string> names;
    for (const State& known : program_.graph.states) {
      names.push_back(program_.graph.values[static_cast<size_t>(known.entry)].name);
    }
    throw unknown_name("[step] unknown state", name, fmt::format("one of {} states", names.size()), names);
  }
  require_types({{name, whole}}, program_.graph);
  rank_->executor().set_state(name, whole);
}

}  // namespace partita

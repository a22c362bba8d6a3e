// The memory formats that oneDNN's convolutions prefer depend on the processor: schedules choose them, and what runs in
// them equals the reference.

#include <gtest/gtest.h>

#include <set>

#include "base/philox.h"
#include "compiler/autodiff/training_graph.h"
#include "compiler/partition/partition.h"
#include "compiler/search/make_plan.h"
#include "frontend/network/build_graph.h"
#include "frontend/network/initializers.h"
#include "ir/ops/registry.h"
#include "runtime/comm/run_ranks.h"
#include "runtime/device/cpu/onednn/engine.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/interpreter.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

constexpr int kThreads = 2;

bool has(dnnl::cpu_isa isa) {
  const auto bits = static_cast<unsigned>(isa);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & bits) == bits;
}

struct Made {
  LocalGraph local;
  Schedule schedule;
};

/// A step of training of a network with convolutions of all kinds: from an image, of 3x3 and 1x1, with strides.
Made training_of_resnet() {
  const ZooModel model = make_model("resnet18:width=16,size=16");
  const auto device = make_cpu_device(all_ops(), kThreads);
  device->enter_thread();
  const Graph forward = build_graph(model.network(Loss::sparse), all_ops(), {.batch = 4, .columns = model.columns()});
  TrainingOptions training;
  training.optimizer = model.recipe.optimizer;
  training.output_gradients = true;
  const Graph graph = make_training_graph(forward, all_ops(), training).graph;
  Made made{.local = partition(graph, all_ops(), make_plan(graph, all_ops(), Mesh(), {}))};
  made.schedule = make_schedule(made.local, all_ops(), device->catalog());
  return made;
}

/// Memory formats of the operands and results of instructions that run an op.
std::set<std::string> formats_of(const Made& made, const std::string& op) {
  std::set<std::string> tags;
  for (const Instruction& instruction : made.schedule.instructions) {
    if (instruction.kind != Instruction::compute || made.local.graph.nodes[instruction.node].op != op) continue;
    for (const auto* buffers : {&instruction.inputs, &instruction.outputs}) {
      for (const int buffer : *buffers) tags.insert(made.schedule.buffers[buffer].format.tag);
    }
  }
  return tags;
}

/// The outputs, gradients among them, of one step with the schedule against those of the interpreter.
void expect_reference(const Made& made) {
  const Graph& graph = made.local.graph;
  std::map<std::string, Array> given;
  for (const State& state : graph.states) {
    const std::string& name = graph.values[state.entry].name;
    given.emplace(name, make_initial(state.init, graph.type(state.entry), random_key(1, name)));
  }
  for (const Input& input : graph.inputs) {
    const std::string& name = graph.values[input.value].name;
    Array array(graph.type(input.value));
    for (int64_t i = 0; i < array.type().elements(); ++i) {
      array.set(i, name == "learning_rate"        ? 0.1
                   : is_float(array.type().dtype) ? random_normal(random_key(1, name), i, 0)
                                                  : static_cast<double>(i % 10));
    }
    given.emplace(name, std::move(array));
  }
  const Interpretation oracle = interpret_all(graph, all_ops(), given);
  run_ranks(1, [&](Communicator& world) {
    const auto device = make_cpu_device(all_ops(), kThreads);
    Executor executor(made.local, made.schedule, all_ops(), *device, world);
    for (const State& state : graph.states) {
      const std::string& name = graph.values[state.entry].name;
      executor.set_state(name, given.at(name));
    }
    for (const Input& input : graph.inputs) {
      const std::string& name = graph.values[input.value].name;
      executor.set_input(name, std::as_const(given.at(name)).tensor());
    }
    executor.step();
    for (const auto& [name, value] : oracle.outputs) {
      const Array got = executor.output(name);
      double largest = 0, difference = 0;
      for (int64_t i = 0; i < value.type().elements(); ++i) {
        largest = std::max(largest, std::abs(value.at(i)));
        difference = std::max(difference, std::abs(got.at(i) - value.at(i)));
      }
      EXPECT_LE(difference, 2e-4 * largest) << name;
    }
  });
}

void expect_blocks_of(int lanes) {
  const Made made = training_of_resnet();
  const std::string data = fmt::format("aBcd{}b", lanes);
  for (const char* op : {"conv2d", "conv2d_grad_input", "conv2d_grad_filter"}) {
    const std::set<std::string> tags = formats_of(made, op);
    EXPECT_TRUE(tags.contains(data)) << op << " runs in none of " << data;
    const auto is_weight = [&](const std::string& tag) {
      return tag.find(fmt::format("{}", lanes)) != std::string::npos && tag != data;
    };
    EXPECT_TRUE(std::ranges::any_of(tags, is_weight)) << op << " has no filters in blocks of " << lanes;
  }
  std::set<std::string> between;  // what runs between convolutions: norms and relu, with their gradients
  for (const Node& node : made.local.graph.nodes) {
    if (node.op.find("_norm") != std::string::npos || node.op.starts_with("relu")) between.insert(node.op);
  }
  EXPECT_EQ(between.size(), 4u);
  for (const std::string& op : between) {
    EXPECT_EQ(formats_of(made, op).count(data), 1u) << op << " leaves the memory format of the convolutions";
  }
  expect_reference(made);
}

TEST(Formats, OfAvx512AreUsedWhereTheProcessorHasIt) {
  if (!has(dnnl::cpu_isa::avx512_core)) GTEST_SKIP() << "oneDNN finds no AVX-512 here, or is told to do without";
  expect_blocks_of(16);
}

TEST(Formats, OfAvx2AreUsedWhereThatIsAll) {
  if (!has(dnnl::cpu_isa::avx2)) GTEST_SKIP() << "oneDNN finds no AVX2 here, or is told to do without";
  if (has(dnnl::cpu_isa::avx512_core)) GTEST_SKIP() << "oneDNN finds AVX-512, whose memory formats it prefers";
  expect_blocks_of(8);
}

}  // namespace
}  // namespace partita

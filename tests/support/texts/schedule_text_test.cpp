// Schedules as text: a printed schedule is read back and runs to the same bits; one that does not fit is refused.

#include <gtest/gtest.h>

#include <algorithm>

#include "base/philox.h"
#include "base/test_refusal.h"
#include "compiler/autodiff/training_graph.h"
#include "compiler/partition/partition.h"
#include "compiler/search/make_plan.h"
#include "frontend/network/build_graph.h"
#include "frontend/network/initializers.h"
#include "ir/ops/registry.h"
#include "runtime/comm/run_ranks.h"
#include "runtime/device/device.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/shard_copy.h"
#include "support/texts/texts.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

struct TextMade {
  LocalGraph local;
  Schedule schedule;
};

TextMade make_of_schedule_text(const Graph& graph, int ranks, const ScheduleOptions& options = {}) {
  const auto device = make_cpu_device(all_ops(), 1);
  const Mesh mesh = ranks > 1 ? Mesh({{"data", ranks}}) : Mesh();
  const Plan plan = make_plan(graph, all_ops(), mesh, {.parallel = ranks > 1 ? Parallel::data : Parallel::none});
  TextMade made{.local = partition(graph, all_ops(), plan)};
  made.schedule = make_schedule(made.local, all_ops(), device->catalog(), options);
  return made;
}

TextMade make_of_schedule_text(const std::string& spec, int ranks, const ScheduleOptions& options = {}) {
  const ZooModel model = make_model(spec);
  const Graph forward = build_graph(model.network(Loss::sparse), all_ops(), {.batch = 6, .columns = model.columns()});
  return make_of_schedule_text(make_training_graph(forward, all_ops(), {.optimizer = model.recipe.optimizer}).graph,
                               ranks, options);
}

Array whole_input(const Type& type, const std::string& name) {
  Array array(type);
  const uint64_t key = random_key(1, name);
  for (int64_t i = 0; i < type.elements(); ++i) {
    const auto element = static_cast<uint64_t>(i);
    array.set(i, name == "learning_rate" ? 0.01
                 : is_float(type.dtype)  ? random_normal(key, element, 0)
                                         : static_cast<double>(random_below(key, element, 0, 10)));
  }
  return array;
}

using Bits = std::vector<std::byte>;

void append(Bits& bits, const Array& array) {
  const auto* data = static_cast<const std::byte*>(array.data());
  bits.insert(bits.end(), data, data + array.type().bytes());
}

/// Returns the outputs of two steps and the states after them, as held by rank 0.
Bits run(const LocalGraph& local, const Schedule& schedule) {
  Bits bits;
  run_ranks(static_cast<int>(local.mesh.ranks()), [&](Communicator& world) {
    const auto device = make_cpu_device(all_ops(), 1);
    Executor executor(local, schedule, all_ops(), *device, world);
    const auto name_of = [&](ValueId value) { return local.graph.values[value].name; };
    for (const State& state : local.graph.states) {
      const std::string name = name_of(state.entry);
      executor.set_state(name, make_initial(state.init, local.graph.type(state.entry), random_key(1, name)));
    }
    for (const Input& input : local.graph.inputs) {
      const Type& type = local.graph.type(input.value);
      Array part(executor.input_type(name_of(input.value)));
      copy_part(whole_input(type, name_of(input.value)).tensor(),
                local_ranges(type, local.shardings[input.value], local.mesh, local.mesh.coordinates(world.rank())),
                part.data());
      executor.set_input(name_of(input.value), std::as_const(part).tensor());
    }
    for (int step = 0; step < 2; ++step) {
      executor.step();
      for (const Output& output : local.graph.outputs) {
        if (world.rank() == 0) append(bits, executor.output(output.name));
      }
    }
    for (const State& state : local.graph.states) {
      const Array value = executor.state(name_of(state.entry));
      if (world.rank() == 0) append(bits, value);
    }
  });
  return bits;
}

std::string schedule_text_message_of(const std::string& text, const LocalGraph& local) {
  return refusal_of([&] { parse_schedule(text, local); });
}

TEST(ScheduleText, IsReadBackAndRunsToTheSameBits) {
  for (const char* model : {"mlp:hidden=16", "lenet", "resnet18:width=4,size=8"}) {
    for (int ranks : {1, 3}) {
      const TextMade made = make_of_schedule_text(model, ranks, {.bucket_bytes = 4096});
      const std::string text = print(made.schedule, made.local);
      const Schedule parsed = parse_schedule(text, made.local);
      EXPECT_EQ(print(parsed, made.local), text) << model << " on " << ranks;
      ASSERT_EQ(parsed.instructions.size(), made.schedule.instructions.size());
      for (size_t i = 0; i < parsed.instructions.size(); ++i) {
        const Instruction &a = parsed.instructions[i], &b = made.schedule.instructions[i];
        EXPECT_EQ(a.node, b.node);
        if (b.kind != Instruction::compute) continue;
        EXPECT_EQ(a.choice.inputs, b.choice.inputs) << b.choice.kernel;
        EXPECT_EQ(a.choice.outputs, b.choice.outputs) << b.choice.kernel;
        EXPECT_EQ(a.choice.scratch_bytes, b.choice.scratch_bytes) << b.choice.kernel;
      }
      EXPECT_NO_THROW(verify(parsed, made.local, make_cpu_device(all_ops(), 1)->catalog()));
      const Bits expected = run(made.local, made.schedule);
      EXPECT_GT(expected.size(), 0U);
      EXPECT_TRUE(run(made.local, parsed) == expected) << model << " on " << ranks;
    }
  }
}

TEST(ScheduleText, SizesOfAnotherDeviceAreRefused) {
  const TextMade made = make_of_schedule_text("lenet", 1);
  const auto device = make_cpu_device(all_ops(), 1);
  std::string text = print(made.schedule, made.local);
  const auto buffer =
      std::find_if(made.schedule.buffers.begin(), made.schedule.buffers.end(),
                   [&](const Buffer& candidate) { return !candidate.format.plain() && candidate.view_of < 0; });
  ASSERT_NE(buffer, made.schedule.buffers.end()) << text;
  const std::string name = made.local.graph.values[buffer->value].name;
  const auto message = [&](const std::string& tag, int64_t bytes) -> std::string {
    Schedule other = made.schedule;
    other.buffers[buffer - made.schedule.buffers.begin()].format = {tag, bytes};
    try {
      verify(other, made.local, device->catalog());
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message(buffer->format.tag, buffer->bytes), "accepted");
  EXPECT_EQ(message(buffer->format.tag, buffer->bytes - 4),
            fmt::format("[schedule] buffer %{}:{} is made for another device, got {}/{} bytes, expected {}", name,
                        buffer->format.tag, buffer->bytes, buffer->bytes - 4, buffer->bytes));
  EXPECT_TRUE(message("odd", buffer->bytes)
                  .starts_with(fmt::format("[schedule] the device has no such memory format, got '%{}:odd'", name)));
}

/// Two states and an output take old values of states, which needs copies and several buffers of one value.
TEST(ScheduleText, CopiesOfStatesAreReadBack) {
  const Graph graph = parse_graph(R"(partita graph 1
graph swap
input %x: f64[4]
state %a: f64[4] parameter normal(0,1)
state %b: f64[4] parameter normal(0,1)
%sum = add(%a, %x) : f64[4]
%loss = reduce(%sum) {kind=sum, axes=[0]} : f64[]
store %a = %b
store %b = %a
output loss = %loss
output old = %a
)",
                                  all_ops());
  const TextMade made = make_of_schedule_text(graph, 1);
  const std::string text = print(made.schedule, made.local);
  const Schedule parsed = parse_schedule(text, made.local);
  EXPECT_EQ(print(parsed, made.local), text);
  EXPECT_TRUE(run(made.local, parsed) == run(made.local, made.schedule));
  const auto without_keeping = replaced(text, "%a#2 = copy(%a)\n", "");
  EXPECT_NE(schedule_text_message_of(without_keeping, made.local).find("reads %a, which is not there any more"),
            std::string::npos)
      << schedule_text_message_of(without_keeping, made.local);
  EXPECT_NE(schedule_text_message_of(replaced(text, "buffer %a#2", "buffer %a"), made.local)
                .find("buffer defined twice, got '%a'"),
            std::string::npos);
}

}  // namespace
}  // namespace partita

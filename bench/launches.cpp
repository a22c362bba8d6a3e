// The time that the host takes for each program that it starts on an accelerator, without the time in the plugin.
//
//   bench_launches MODEL BATCH [RANKS=1] [MICRO_BATCHES=1] [LEVEL=0] [COLLECTIVES=cut] [STEPS=200] [PLUGIN]
//
// Without PLUGIN, the path of one for CPUs, programs go to a fake plugin, which computes nothing. Ranks are threads, on
// devices of their own. LEVEL is that of optimizer sharding, of all parameters. Prints the programs that rank 0 runs in
// a step, and the median and the smallest processor time of its thread outside of the plugin, over all programs of the
// step. In cut mode this includes collectives between programs.

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <string>
#include <utility>

#include "base/philox.h"
#include "frontend/network/initializers.h"
#include "ir/ops/registry.h"
#include "runtime/device/xla/xla_device.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/shard_copy.h"
#include "runtime/launch/run_process.h"
#include "runtime/pjrt/plugin.h"
#include "runtime/pjrt/test_fake_plugin.h"
#include "usage.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

/// Processor time of this thread in microseconds.
double thread_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

/// Time and calls of a thread in functions of the plugin.
struct PluginUse {
  double time = 0;
  int64_t calls = 0, runs = 0;
};
thread_local PluginUse plugin_use;

/// Cost of measuring one call: the processor time that it takes, and the part of it that is measured.
struct MeasuringCost {
  double taken = 0, measured = 0;
};

MeasuringCost measuring_cost() {
  constexpr int kCalls = 20'000;
  MeasuringCost cost;
  const double begin = thread_time();
  for (int i = 0; i < kCalls; ++i) {
    const double before = thread_time();
    cost.measured += (thread_time() - before) / kCalls;
  }
  cost.taken = (thread_time() - begin) / kCalls;
  return cost;
}

/// A table of functions that call those of another one, and measure how long they take.
class TimedPlugin {
 public:
  explicit TimedPlugin(const pjrt::Table* plugin) {
    table_.table = *plugin;
    table_.table.struct_size = std::min(plugin->struct_size, sizeof(table_));
    const auto* functions = reinterpret_cast<const Entry*>(plugin + 1);
    const size_t count = (table_.table.struct_size - sizeof(pjrt::Table)) / sizeof(Entry);
    std::copy(functions, functions + count, original().begin());
    replace(std::make_index_sequence<kFunctions>());
  }
  const pjrt::Table* table() const { return &table_.table; }

 private:
  using Entry = void* (*)(void*);
  static constexpr size_t kFunctions = 128;
  static std::array<Entry, kFunctions>& original() {
    static std::array<Entry, kFunctions> functions{};
    return functions;
  }

  template <size_t Index>
  static void* timed(void* args) {
    const double begin = thread_time();
    void* result = original()[Index](args);
    plugin_use.time += thread_time() - begin;
    ++plugin_use.calls;
    plugin_use.runs += Index == static_cast<size_t>(pjrt::Function::loaded_executable_execute);
    return result;
  }
  template <size_t... Index>
  void replace(std::index_sequence<Index...>) {
    ((table_.functions[Index] = original()[Index] == nullptr ? nullptr : &timed<Index>), ...);
  }

  struct {
    pjrt::Table table;
    std::array<Entry, kFunctions> functions{};
  } table_;
};

struct Settings {
  std::string model;
  int64_t batch = 32;
  int ranks = 1;
  int64_t micro_batches = 1, level = 0;
  CollectiveMode collectives = CollectiveMode::cut;
  int steps = 200;
  std::string plugin;
};

/// Sets the inputs of a step to zeros, as a loader sets them before each one: the time does not depend on numbers.
void set_inputs(Executor& executor, const Program& program) {
  const LocalGraph& local = executor.stages()[0]->local();
  for (const Input& input : program.graph.inputs) {
    const Type& type = program.graph.type(input.value);
    const std::string& name = program.graph.values[input.value].name;
    const Array whole(type);
    const ValueId own = local.graph.input(name);
    for (int64_t m = 0; m < (type.rank() == 0 ? 1 : local.mesh.micro_batches()); ++m) {
      std::vector<int64_t> coordinates = executor.stages()[0]->coordinates();
      if (local.mesh.micro_axis() >= 0) coordinates[static_cast<size_t>(local.mesh.micro_axis())] = m;
      executor.set_input(name, whole.tensor(),
                         local_ranges(local.graph.type(own), local.shardings[own], local.mesh, coordinates), m);
    }
  }
}

struct StepTimes {
  std::vector<double> outside, inside;  // microseconds, by step
  int64_t runs = 0, calls = 0;          // sums over all steps
};

StepTimes time_steps(Executor& executor, const Program& program, int steps) {
  StepTimes times;
  const MeasuringCost cost = measuring_cost();
  for (int step = -5; step < steps; ++step) {
    set_inputs(executor, program);
    plugin_use = {};
    const double begin = thread_time();
    executor.step();
    const double whole = thread_time() - begin;
    if (step < 0) continue;
    const auto calls = static_cast<double>(plugin_use.calls);
    times.outside.push_back(whole - plugin_use.time - calls * (cost.taken - cost.measured));
    times.inside.push_back(plugin_use.time - calls * cost.measured);
    times.runs += plugin_use.runs;
    times.calls += plugin_use.calls;
  }
  return times;
}

void print_times(const Settings& settings, StepTimes times) {
  const double runs = static_cast<double>(times.runs) / settings.steps;
  std::sort(times.outside.begin(), times.outside.end());
  std::sort(times.inside.begin(), times.inside.end());
  const size_t middle = times.outside.size() / 2;
  fmt::print(
      "{} B {} ranks {} micro-batches {} level {} {}: {:.1f} programs and {:.0f} calls a step; outside of the plugin "
      "{:.1f} us a program (min {:.1f}), {:.0f} us a step; inside {:.0f} us a step\n",
      settings.model, settings.batch, settings.ranks, settings.micro_batches, settings.level,
      name_of(settings.collectives), runs, static_cast<double>(times.calls) / settings.steps,
      times.outside[middle] / runs, times.outside.front() / runs, times.outside[middle], times.inside[middle]);
}

const pjrt::Table* table_of(const std::string& path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* get = library == nullptr ? nullptr : ::dlsym(library, "GetPjrtApi");
  if (get == nullptr)
    throw InvalidArgument(fmt::format("[launches] not a plugin, got {}, expected a library with GetPjrtApi", path));
  return reinterpret_cast<const pjrt::Table* (*)()>(get)();
}

void measure(const Settings& settings) {
  const Place place = this_place();
  JobConfig config = configured(settings.model, {});
  config.training.batch = settings.batch;
  config.ranks = {
      .count = settings.ranks,
      .threads = 1,
      .device = "xla:cpu",
      .collectives = settings.collectives == CollectiveMode::whole ? CollectiveChoice::whole : CollectiveChoice::cut};
  config.plan.options.parallel = Parallel::data;
  config.plan.options.micro_batches = settings.micro_batches;
  config.plan.options.zero = {.level = settings.level, .threshold = 0};
  const Program program = ZooJob(config, place).program(Purpose::training);
  std::optional<pjrt::FakePlugin> fake;
  if (settings.plugin.empty()) fake.emplace().fill_i64 = 0;  // no id is out of range
  const TimedPlugin timed(fake ? fake->table() : table_of(settings.plugin));
  pjrt::NamedOptions options;
  if (!fake) options["cpu_device_count"] = int64_t{8};
  const pjrt::Client client = pjrt::Plugin(timed.table(), "timed").make_client(options);
  run_on_ranks(place, settings.ranks, 1, [&](Communicator& world) {
    const auto device =
        make_device(all_ops(), Accelerator::of(client, static_cast<size_t>(world.rank())), 1, settings.collectives);
    Executor executor(program.pipeline, program.stages, all_ops(), *device, world);
    for (const State& state : program.graph.states) {
      const std::string& name = program.graph.values[state.entry].name;
      executor.set_state(name, make_initial(state.init, program.graph.type(state.entry), random_key(1, name)));
    }
    const StepTimes times = time_steps(executor, program, settings.steps);
    if (world.rank() == 0) print_times(settings, times);
    world.barrier();
  });
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  constexpr auto kUsage = "MODEL BATCH [RANKS] [MICRO_BATCHES] [LEVEL] [COLLECTIVES] [STEPS] [PLUGIN]";
  return partita::run_benchmark(argc, argv, kUsage, /*required=*/2, [](const partita::Arguments& given) {
    partita::measure({.model = given.text(1, ""),
                      .batch = given.number(2, 32),
                      .ranks = given.number(3, 1),
                      .micro_batches = given.number(4, 1),
                      .level = given.number(5, 0, /*least=*/0),
                      .collectives = partita::parse_name<partita::CollectiveMode>("COLLECTIVES", given.text(6, "cut")),
                      .steps = given.number(7, 200),
                      .plugin = given.text(8, "")});
  });
}

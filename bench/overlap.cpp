// How much of a slow communication a data-parallel step overlaps with its backward pass. Every all-reduce of more than
// a few numbers takes some milliseconds longer, as over a slow link.
//
//   bench_overlap [MODEL=resnet50] [BATCH=16] [RANKS=2] [MILLISECONDS=20] [STEPS=5]
//
// Prints the step with and without the delay, with asynchronous reductions and with synchronous ones.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "../tests/support/forwarding_communicator.h"
#include "base/philox.h"
#include "frontend/network/initializers.h"
#include "ir/ops/registry.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/shard_copy.h"
#include "runtime/launch/run_process.h"
#include "usage.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

using Clock = std::chrono::steady_clock;

struct Delay {
  std::chrono::milliseconds of_each{0};
  std::atomic<int64_t> calls{0};  // number of delayed calls, on all ranks
};

class DelayedCommunicator final : public ForwardingCommunicator {
 public:
  DelayedCommunicator(Communicator& inner, Delay& delay) : ForwardingCommunicator(inner), delay_(delay) {}
  DelayedCommunicator(std::unique_ptr<Communicator> inner, Delay& delay)
      : ForwardingCommunicator(std::move(inner)), delay_(delay) {}

  std::unique_ptr<Communicator> split(std::span<const int> members, Timeout timeout) override {
    return std::make_unique<DelayedCommunicator>(inner().split(members, timeout), delay_);
  }
  void all_reduce(void* data, int64_t count, DType dtype, Reduce reduce, Timeout timeout) override {
    constexpr int64_t kFew = 1024;
    if (count > kFew) {
      ++delay_.calls;
      std::this_thread::sleep_for(delay_.of_each);
    }
    ForwardingCommunicator::all_reduce(data, count, dtype, reduce, timeout);
  }

 private:
  Delay& delay_;
};

struct Settings {
  std::string model;
  int64_t batch = 16;
  int ranks = 2, milliseconds = 20, steps = 5;
};

Array random_values(const Type& type, const std::string& name) {
  Array array(type);
  for (int64_t i = 0; i < type.elements(); ++i) {
    const auto element = static_cast<uint64_t>(i);
    array.set(i, name == "learning_rate" ? 0.01
                 : is_float(type.dtype)  ? random_normal(random_key(1, name), element, 0)
                                         : static_cast<double>(random_below(random_key(1, name), element, 0, 10)));
  }
  return array;
}

/// Milliseconds of the fastest of some steps, and the delayed calls of a rank in each.
struct Measured {
  double step = 0;
  int64_t calls = 0;
};
Measured measure(const Settings& settings, bool overlap, int milliseconds) {
  const Place place = this_place();
  JobConfig config = configured(settings.model, {});
  config.training.batch = settings.batch;
  config.ranks = {.count = settings.ranks, .threads = 1};
  const ZooJob job(config, place);
  const auto catalog = make_cpu_device(all_ops(), /*threads=*/1);
  catalog->enter_thread();
  Program program = job.program(Purpose::training);
  StageProgram& stage = program.stages.front();
  stage.schedule = make_schedule(stage.local, all_ops(), catalog->catalog(), {.overlap = overlap});
  Delay delay{.of_each = std::chrono::milliseconds(milliseconds)};
  Measured result;
  run_on_ranks(place, settings.ranks, /*threads=*/1, [&](Communicator& world) {
    DelayedCommunicator slow(world, delay);
    const auto device = make_cpu_device(all_ops(), /*threads=*/1);
    Executor executor(program.pipeline, program.stages, all_ops(), *device, slow);
    for (const State& state : program.graph.states) {
      const std::string& name = program.graph.values[state.entry].name;
      executor.set_state(name, make_initial(state.init, program.graph.type(state.entry), random_key(1, name)));
    }
    const StageExecutor& own = *executor.stages().front();
    for (const Input& input : program.graph.inputs) {
      const std::string& name = program.graph.values[input.value].name;
      const Type& whole = program.graph.type(input.value);
      executor.set_input(name, random_values(whole, name).tensor(),
                         local_ranges(whole, own.local().shardings[own.local().graph.input(name)], own.local().mesh,
                                      own.coordinates()));
    }
    executor.step();
    double fastest = 0;
    const int64_t before = delay.calls;
    for (int step = 0; step < settings.steps; ++step) {
      world.barrier();
      const auto begin = Clock::now();
      executor.step();
      const double taken = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
      fastest = step == 0 ? taken : std::min(fastest, taken);
    }
    world.barrier();
    if (world.rank() == 0) result = {fastest, (delay.calls - before) / settings.steps / settings.ranks};
  });
  return result;
}

void compare(const Settings& settings) {
  for (const bool overlap : {true, false}) {
    const Measured fast = measure(settings, overlap, 0), slow = measure(settings, overlap, settings.milliseconds);
    const double delay = static_cast<double>(slow.calls * settings.milliseconds), growth = slow.step - fast.step;
    fmt::print(
        "{} B {} ranks {} {}: {} reductions, step {:.1f} ms, with {:.0f} ms of delay {:.1f} ms: grows by {:.1f} ms, "
        "{:.0f} % hidden\n",
        settings.model, settings.batch, settings.ranks, overlap ? "asynchronous" : "synchronous", slow.calls, fast.step,
        delay, slow.step, growth, 100 * (1 - growth / delay));
  }
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  constexpr auto kUsage = "[MODEL] [BATCH] [RANKS] [MILLISECONDS] [STEPS]";
  return partita::run_benchmark(argc, argv, kUsage, /*required=*/0, [](const partita::Arguments& given) {
    partita::compare({.model = given.text(1, "resnet50"),
                      .batch = given.number(2, 16),
                      .ranks = given.number(3, 2),
                      .milliseconds = given.number(4, 20, /*least=*/0),
                      .steps = given.number(5, 5)});
  });
}

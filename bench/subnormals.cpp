// What subnormal numbers cost a training step on a fixed batch, which soon has some: the loss falls, and gradients with
// it, below what f32 holds in full.
//
//   bench_subnormals [MODEL] [BATCH=16] [THREADS=2] [WARM=10] [STEPS=8]
//
// Steps of three trainings in turn: with a learning rate of 0, so none come up; with one of 0.01; and with 0.01 on
// threads that keep them. Some processors take no longer for them: there all three are equal.
// Prints the median step of each and the median of its ratio to the first.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>

#include "base/philox.h"
#include "frontend/network/initializers.h"
#include "ir/ops/registry.h"
#include "runtime/comm/run_ranks.h"
#include "runtime/execute/executor.h"
#include "runtime/launch/place.h"
#include "usage.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

/// A device whose threads never flush.
class KeepsSubnormals final : public Device {
 public:
  explicit KeepsSubnormals(std::unique_ptr<Device> device) : device_(std::move(device)) {}
  const KernelCatalog& catalog() const override { return device_->catalog(); }
  std::shared_ptr<void> allocate(int64_t bytes) override { return device_->allocate(bytes); }
  void discard(void* begin, int64_t bytes) override { device_->discard(begin, bytes); }
  std::unique_ptr<Kernel> make_kernel(const KernelQuery& query, const KernelChoice& choice) override {
    return device_->make_kernel(query, choice);
  }
  std::unique_ptr<Kernel> make_reorder(const Type& type, const MemoryFormat& from, const MemoryFormat& to) override {
    return device_->make_reorder(type, from, to);
  }
  std::unique_ptr<RowReader> make_row_reader(const Type& type, const MemoryFormat& from) override {
    return device_->make_row_reader(type, from);
  }
  void enter_thread() override { device_->enter_thread(); }
  void set_subnormals(SubnormalSetting) override {}

 private:
  std::unique_ptr<Device> device_;
};

Array random_input(const Type& type, const std::string& name) {
  Array array(type);
  const uint64_t key = random_key(1, name);
  for (int64_t i = 0; i < type.elements(); ++i) {
    const auto element = static_cast<uint64_t>(i);
    array.set(i, is_float(type.dtype) ? random_normal(key, element, 0)
                                      : static_cast<double>(random_below(key, element, 0, 10)));
  }
  return array;
}

struct Training {
  std::string name;
  std::unique_ptr<Device> device;
  Executor executor;
  std::vector<double> times = {};

  Training(std::string title, std::unique_ptr<Device> where, const Program& program, double rate, Communicator& world)
      : name(std::move(title)),
        device(std::move(where)),
        executor(program.local(), program.schedule(), all_ops(), *device, world) {
    const Graph& graph = program.graph;
    for (const State& state : graph.states) {
      const std::string& state_name = graph.values[state.entry].name;
      executor.set_state(state_name, make_initial(state.init, graph.type(state.entry), random_key(1, state_name)));
    }
    for (const Input& input : graph.inputs) {
      const std::string& input_name = graph.values[input.value].name;
      Array array = random_input(graph.type(input.value), input_name);
      if (input_name == "learning_rate") array.set(0, rate);
      executor.set_input(input_name, std::as_const(array).tensor());
    }
  }

  void step() {
    const auto begin = std::chrono::steady_clock::now();
    executor.step();
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void measure(const std::string& model, int64_t batch, int threads, int warm, int steps) {
  JobConfig config = configured(model, {});
  config.training.batch = batch;
  config.ranks = {.count = 1, .threads = threads};
  const Program program = ZooJob(config, Place{}).program(Purpose::training);
  run_ranks(1, [&](Communicator& world) {
    const auto device = [&] { return make_cpu_device(all_ops(), threads); };
    Training runs[] = {{"none come up", device(), program, 0, world},
                       {"flushed", device(), program, 0.01, world},
                       {"kept", std::make_unique<KeepsSubnormals>(device()), program, 0.01, world}};
    for (int step = 0; step < warm + steps; ++step) {
      if (step == warm) {
        for (Training& run : runs) run.times.clear();
      }
      for (Training& run : runs) run.step();
    }
    for (const Training& run : runs) {
      std::vector<double> ratios;
      for (size_t i = 0; i < run.times.size(); ++i) ratios.push_back(run.times[i] / runs[0].times[i]);
      fmt::print("{} B {} threads {} subnormal numbers {}: median {:.1f} ms, ratio {:.3f}, loss {:.3g}\n", model, batch,
                 threads, run.name, median(run.times), median(ratios), run.executor.output("loss").at(0));
    }
  });
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  constexpr auto kUsage = "[MODEL] [BATCH] [THREADS] [WARM] [STEPS]";
  return partita::run_benchmark(argc, argv, kUsage, /*required=*/0, [](const partita::Arguments& given) {
    partita::measure(given.text(1, "gpt:layers=6,hidden=384,heads=6,seq=256,vocab=65"), given.number(2, 16),
                     given.number(3, 2), given.number(4, 10, /*least=*/0), given.number(5, 8));
  });
}

#pragma once
// Jobs on a plugin that computes nothing (runtime/pjrt/test_fake_plugin.h).

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ir/ops/registry.h"
#include "runtime/device/xla/xla_device.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/shard_copy.h"
#include "runtime/pjrt/test_fake_plugin.h"
#include "support/job.h"
#include "support/ranks.h"

namespace partita {

using pjrt::ErrorCode;
using pjrt::FakePlugin;
using pjrt::Function;

inline constexpr std::string_view kFourLayers = R"(partita graph 1
graph layers
input %x: f64[8,6] batch=0
state %w: f64[6,6] parameter constant(0.1)
state %v: f64[6,6] parameter constant(0.2)
state %u: f64[6,4] parameter constant(0.3)
%a = matmul(%x, %w) : f64[8,6] ; scope=net/first
%b = tanh(%a) : f64[8,6] ; scope=net/first
%c = matmul(%b, %v) : f64[8,6] ; scope=net/second
%d = tanh(%c) : f64[8,6] ; scope=net/second
%e = matmul(%d, %u) : f64[8,4] ; scope=net/last
%f = square(%e) : f64[8,4]
%loss = reduce(%f) {axes=[0,1], scale=0.1} : f64[]
output loss = %loss
)";

/// Bytes of flags on a device after a program whose update is guarded: false, true, and whether all was good.
inline constexpr int64_t kFlagBytes = 3;

/// A fake plugin, and jobs on its first device. An alarm ends a test that hangs.
class FakeAccelerated : public testing::Test {
 protected:
  void SetUp() override {
    if (ranks_are_processes()) GTEST_SKIP() << "a process that fails is ended by its launcher";
    ::alarm(300);
    start();
  }
  void TearDown() override {
    ::alarm(0);
    stop();
  }

  void start() {
    stop();
    fake_ = std::make_unique<FakePlugin>();
    const pjrt::Client client = pjrt::Plugin(fake_->table(), "fake.so").make_client();
    accelerator_.emplace(Accelerator::of(client, 0));
    second_.emplace(Accelerator::of(client, 1));
  }
  void stop() {
    if (fake_ == nullptr) return;
    accelerator_.reset();
    second_.reset();
    EXPECT_TRUE(fake_->alive.empty()) << *fake_->alive.begin();
    fake_.reset();
  }

  /// Rows of the input x of `job`.
  static Array rows_of(uint64_t key) { return random_array({DType::f64, {8, 6}}, key); }

  Job job(int ranks, int64_t micro_batches = 1) {
    Job job;
    job.forward = parse_graph(kFourLayers, all_ops());
    job.training.optimizer = {.kind = OptimizerKind::adamw};
    job.states = initial_states(job.forward, /*seed=*/3);
    job.ranks = ranks;
    job.micro_batches = micro_batches;
    job.steps = 2;
    job.batch = [](int) {
      Arrays batch;
      batch.emplace("x", rows_of(5));
      return batch;
    };
    on_fake(job);
    return job;
  }

  void on_fake(Job& job) {
    job.device = [this](int threads, KernelSet) { return make_device(all_ops(), *accelerator_, threads); };
  }

  /// A job of two ranks, each on a device of its own, with collectives in programs.
  Job whole_job() {
    Job job = this->job(2);
    job.device = [this](int threads, KernelSet) {
      return make_device(all_ops(), next_++ % 2 == 0 ? *accelerator_ : *second_, threads, CollectiveMode::whole);
    };
    return job;
  }

  std::unique_ptr<FakePlugin> fake_;
  std::optional<Accelerator> accelerator_, second_;
  std::atomic<int> next_ = 0;
};

/// Returns the message and the exit code of what an action throws; "" and ok if it throws nothing.
inline std::pair<std::string, ExitCode> failure_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return {error.what(), error.code()};
  }
  return {"", ExitCode::ok};
}

inline bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// Sets the states and the inputs of an executor.
inline void prepare(Executor& executor, const Program& program, const Job& job) {
  for (const State& state : program.graph.states) {
    const std::string& name = program.graph.values[state.entry].name;
    const auto given = job.states.find(name);
    executor.set_state(name, given != job.states.end() ? given->second : Array(program.graph.type(state.entry)));
  }
  const Array x = job.batch(0).at("x");
  Array rate({DType::f64, {}});
  executor.set_input("learning_rate", std::as_const(rate).tensor());
  const LocalGraph& local = executor.stages()[0]->local();
  const ValueId value = local.graph.input("x");
  for (int64_t m = 0; m < local.mesh.micro_batches(); ++m) {
    std::vector<int64_t> coordinates = executor.stages()[0]->coordinates();
    if (local.mesh.micro_axis() >= 0) coordinates[static_cast<size_t>(local.mesh.micro_axis())] = m;
    executor.set_input("x", x.tensor(),
                       local_ranges(local.graph.type(value), local.shardings[value], local.mesh, coordinates), m);
  }
}

}  // namespace partita

// What goes wrong in a pipeline ends on every rank: numbers that are not finite, before anything is updated; ranks that
// fail, wherever they are.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <mutex>
#include <set>

#include "ir/ops/registry.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/shard_copy.h"
#include "support/forwarding_communicator.h"
#include "support/job.h"
#include "support/ranks.h"

namespace partita {
namespace {

constexpr const char* kLogarithm = R"(partita graph 1
graph logarithm
input %x: f64[8,4] batch=0
state %w: f64[4,4] parameter constant(0.3)
state %v: f64[4,4] parameter constant(0.2)
state %u: f64[4,4] parameter constant(0.1)
%a = matmul(%x, %w) : f64[8,4] ; stage=0
%b = matmul(%a, %v) : f64[8,4] ; stage=1 scope=net/middle
%c = log(%b) : f64[8,4] ; stage=1 scope=net/middle
%d = matmul(%c, %u) : f64[8,4] ; stage=2
%e = square(%d) : f64[8,4] ; stage=2
%loss = reduce(%e) {axes=[0,1], scale=0.1} : f64[] ; stage=2
output loss = %loss
)";

Job failing_job(int ranks, int64_t micro_batches, Order order) {
  Job job;
  job.forward = parse_graph(kLogarithm, all_ops());
  job.training.optimizer = {.kind = OptimizerKind::adamw, .clip_norm = 1};
  job.states = initial_states(job.forward, /*seed=*/3);
  job.ranks = ranks;
  job.micro_batches = micro_batches;
  job.pipeline.order = order;
  job.zero = {.level = 1, .threshold = 0};
  job.batch = [](int step) {
    Array x({DType::f64, {8, 4}});
    for (int64_t i = 0; i < 32; ++i) x.set(i, 1 + 0.1 * static_cast<double>((i + step) % 7));
    Arrays batch;
    batch.emplace("x", std::move(x));
    return batch;
  };
  return job;
}

void feed_rows(Executor& executor, Array x) {
  Array rate({DType::f64, {}});
  rate.set(0, 0.1);
  for (const auto& stage : executor.stages()) {
    for (const Input& input : stage->local().graph.inputs) {
      const std::string& name = stage->local().graph.values[input.value].name;
      if (name == "learning_rate") executor.set_input(name, std::as_const(rate).tensor());
      if (name != "x") continue;
      const LocalGraph& local = stage->local();
      for (int64_t m = 0; m < local.mesh.micro_batches(); ++m) {
        std::vector<int64_t> coordinates = stage->coordinates();
        if (local.mesh.micro_axis() >= 0) coordinates[static_cast<size_t>(local.mesh.micro_axis())] = m;
        executor.set_input(
            name, std::as_const(x).tensor(),
            local_ranges(local.graph.type(input.value), local.shardings[input.value], local.mesh, coordinates), m);
      }
    }
  }
}

std::map<std::string, std::vector<double>> states_of(const Executor& executor, const Graph& graph) {
  std::map<std::string, std::vector<double>> states;
  for (const State& state : graph.states) {
    const Array value = executor.state(graph.values[state.entry].name);
    for (int64_t i = 0; i < value.type().elements(); ++i) {
      states[graph.values[state.entry].name].push_back(value.at(i));
    }
  }
  return states;
}

TEST(StageFailures, NumbersThatAreNotFiniteLeaveStatesAlone) {
  for (const auto& [ranks, micro_batches] : {std::pair{3, 1}, {3, 4}, {4, 2}, {6, 4}}) {
    if (!can_run(ranks)) continue;
    for (const Order order : {Order::one_forward_one_backward, Order::zero_bubble}) {
      const Job job = failing_job(ranks, micro_batches, order);
      const Program program = compile_job(job);
      std::mutex mutex;
      std::set<std::string> messages;
      int told = 0;
      on_ranks(ranks, [&](Communicator& world) {
        const auto device = make_cpu_device(all_ops(), 1, KernelSet::reference);
        Executor executor(program.pipeline, program.stages, all_ops(), *device, world);
        for (const State& state : program.graph.states) {
          const std::string& name = program.graph.values[state.entry].name;
          const auto given = job.states.find(name);
          executor.set_state(name, given != job.states.end() ? given->second : Array(program.graph.type(state.entry)));
        }
        feed_rows(executor, job.batch(0).at("x"));
        executor.step();
        const auto before = states_of(executor, program.graph);
        Array bad = job.batch(1).at("x");
        bad.set(31, -1e3);  // the logarithm of a negative number, in the last micro-batch
        feed_rows(executor, bad);
        try {
          executor.step();
          ADD_FAILURE() << "rank " << world.rank() << " goes on";
        } catch (const RuntimeFailure& error) {
          EXPECT_EQ(error.code(), ExitCode::non_finite);
          const std::lock_guard lock(mutex);
          messages.insert(error.what());
          ++told;
        }
        EXPECT_EQ(states_of(executor, program.graph), before) << world.rank();
        feed_rows(executor, job.batch(2).at("x"));
        executor.step();  // all ranks are where they would be without the bad one
        EXPECT_TRUE(std::isfinite(executor.output("loss").at(0)));
        EXPECT_NE(states_of(executor, program.graph), before) << world.rank();
      });
      EXPECT_EQ(told, ranks_are_processes() ? std::min(told, 1) : ranks);
      for (const std::string& message : messages) {
        EXPECT_TRUE(message.starts_with("[train] the loss is not finite, got ")) << message;
        const std::string place = "expected a number: first made by c (log in net/middle on stage 1)";
        const size_t found = message.find(place);
        ASSERT_NE(found, std::string::npos) << message;
        EXPECT_EQ(message.substr(found + place.size()).starts_with(" on rank "), ranks > 1) << message;
      }
      EXPECT_LE(messages.size(), 1u);
    }
  }
}

/// Fails in one call of one rank.
class FailingTransport final : public ForwardingCommunicator {
 public:
  FailingTransport(Communicator& inner, int& left) : ForwardingCommunicator(inner), left_(left) {}
  FailingTransport(std::unique_ptr<Communicator> inner, int& left)
      : ForwardingCommunicator(std::move(inner)), left_(left) {}

  std::unique_ptr<Communicator> split(std::span<const int> members, Timeout timeout) override {
    return std::make_unique<FailingTransport>(inner().split(members, timeout), left_);
  }
  void post(const void* data, int64_t count, DType dtype, int to) override {
    count_down();
    ForwardingCommunicator::post(data, count, dtype, to);
  }
  void recv(void* data, int64_t count, DType dtype, int from, Timeout timeout) override {
    count_down();
    ForwardingCommunicator::recv(data, count, dtype, from, timeout);
  }
  void all_gather(const void* send, void* recv, std::span<const int64_t> counts, DType dtype,
                  Timeout timeout) override {
    count_down();
    ForwardingCommunicator::all_gather(send, recv, counts, dtype, timeout);
  }

 private:
  void count_down() {
    if (--left_ == 0) throw RuntimeFailure(ExitCode::out_of_memory, "[memory] out of memory in a test");
  }
  int& left_;
};

// Whoever hangs is ended by the alarm. Processes that fail are ended by their launcher: see tests/scripts/mpi.sh.
TEST(StageFailures, ARankThatFailsEndsAllRanks) {
  if (ranks_are_processes()) return;
  ::alarm(120);
  for (const int failing : {0, 1, 2, 3}) {
    Job job = failing_job(4, 4, Order::one_forward_one_backward);
    job.steps = 2;
    int calls = 0;
    for (bool fails = true; fails; ++calls) {
      int left = calls + 1;
      job.wrap = [&](Communicator& world) -> std::unique_ptr<Communicator> {
        if (world.rank() != failing) return nullptr;
        return std::make_unique<FailingTransport>(world, left);
      };
      fails = false;
      try {
        run_job(job);
      } catch (const RuntimeFailure& error) {
        fails = true;
        EXPECT_EQ(error.code(), ExitCode::out_of_memory) << error.what();
        EXPECT_NE(std::string(error.what()).find("out of memory in a test"), std::string::npos) << error.what();
      }
    }
    EXPECT_GT(calls, 10) << "rank " << failing;
  }
  ::alarm(0);
}

}  // namespace
}  // namespace partita

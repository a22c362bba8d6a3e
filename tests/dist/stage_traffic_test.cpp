// What ranks of a pipeline send in a step: messages and collectives, with their bytes.

#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "base/philox.h"
#include "ir/ops/registry.h"
#include "support/forwarding_communicator.h"
#include "support/job.h"
#include "support/ranks.h"

namespace partita {
namespace {

/// How often, over all ranks: "message 0->1 384 bytes", "all_gather of 0,1,2 24 bytes".
using Traffic = std::map<std::string, int64_t>;

struct TrafficLog {
  std::mutex mutex;
  Traffic traffic;
  void add(const std::string& what) {
    const std::lock_guard lock(mutex);
    ++traffic[what];
  }
};

/// Notes messages at their sender, and collectives at the first rank of their group.
class NotingCommunicator final : public ForwardingCommunicator {
 public:
  NotingCommunicator(Communicator& inner, TrafficLog& log) : ForwardingCommunicator(inner), log_(log) {}
  NotingCommunicator(std::unique_ptr<Communicator> inner, TrafficLog& log)
      : ForwardingCommunicator(std::move(inner)), log_(log) {}

  std::unique_ptr<Communicator> split(std::span<const int> members, Timeout timeout) override {
    return std::make_unique<NotingCommunicator>(inner().split(members, timeout), log_);
  }
  void post(const void* data, int64_t count, DType dtype, int to) override {
    log_.add(fmt::format("message {}->{} {} bytes", world_ranks()[static_cast<size_t>(rank())],
                         world_ranks()[static_cast<size_t>(to)], bytes_of(count, dtype)));
    ForwardingCommunicator::post(data, count, dtype, to);
  }
  void all_reduce(void* data, int64_t count, DType dtype, Reduce reduce, Timeout timeout) override {
    note("all_reduce", bytes_of(count, dtype));
    ForwardingCommunicator::all_reduce(data, count, dtype, reduce, timeout);
  }
  void all_gather(const void* send, void* recv, std::span<const int64_t> counts, DType dtype,
                  Timeout timeout) override {
    int64_t bytes = 0;
    for (const int64_t count : counts) bytes += bytes_of(count, dtype);
    note("all_gather", bytes);
    ForwardingCommunicator::all_gather(send, recv, counts, dtype, timeout);
  }
  void reduce_scatter(const void* send, void* recv, std::span<const int64_t> counts, DType dtype, Reduce reduce,
                      Timeout timeout) override {
    int64_t bytes = 0;
    for (const int64_t count : counts) bytes += bytes_of(count, dtype);
    note("reduce_scatter", bytes);
    ForwardingCommunicator::reduce_scatter(send, recv, counts, dtype, reduce, timeout);
  }

 private:
  static int64_t bytes_of(int64_t count, DType dtype) { return count * static_cast<int64_t>(size_of(dtype)); }
  void note(const std::string& kind, int64_t bytes) {
    if (rank() == 0) log_.add(fmt::format("{} of {} {} bytes", kind, fmt::join(world_ranks(), ","), bytes));
  }

  TrafficLog& log_;
};

/// Traffic of one step: half the difference between trainings of three steps and of one step.
Traffic traffic_of_step(Job job) {
  std::map<int, TrafficLog> logs;  // by steps
  for (const int steps : {1, 3}) {
    TrafficLog& log = logs[steps];
    job.steps = steps;
    job.wrap = [&](Communicator& world) { return std::make_unique<NotingCommunicator>(world, log); };
    run_job(job);
  }
  Traffic traffic;
  for (const auto& [what, count] : logs[3].traffic) {
    const int64_t more = count - logs[1].traffic[what];
    EXPECT_EQ(more % 2, 0) << what;
    if (more > 0) traffic[what] = more / 2;
  }
  return traffic;
}

constexpr const char* kChain = R"(partita graph 1
graph chain
input %x: f64[24,4] batch=0
state %w0: f64[4,6] parameter normal(0,0.5)
state %w1: f64[6,5] parameter normal(0,0.5)
state %w2: f64[5,3] parameter normal(0,0.5)
%a = matmul(%x, %w0) : f64[24,6] ; stage=0
%b = tanh(%a) : f64[24,6] ; stage=1
%c = matmul(%b, %w1) : f64[24,5] ; stage=1
%d = tanh(%c) : f64[24,5] ; stage=2
%e = matmul(%d, %w2) : f64[24,3] ; stage=2
%f = square(%e) : f64[24,3] ; stage=2
%loss = reduce(%f) {axes=[0,1], scale=0.04} : f64[] ; stage=2
output loss = %loss
)";

// The table of the last stage is that of the first.
constexpr const char* kTied = R"(partita graph 1
graph tied
input %x: f64[24,4] batch=0
state %w: f64[4,6] parameter normal(0,0.5)
%a = matmul(%x, %w) : f64[24,6] ; stage=0
%b = tanh(%a) : f64[24,6] ; stage=1
%e = matmul(%b, %w) {transpose_b=true} : f64[24,4] ; stage=1
%f = square(%e) : f64[24,4] ; stage=1
%loss = reduce(%f) {axes=[0,1], scale=0.04} : f64[] ; stage=1
output loss = %loss
)";

Job traffic_job(const char* text, int ranks, int64_t micro_batches, Order order, double clip_norm = 0) {
  Job job;
  job.forward = parse_graph(text, all_ops());
  job.training.optimizer = {.kind = OptimizerKind::adamw, .clip_norm = clip_norm};
  job.states = initial_states(job.forward, /*seed=*/3);
  job.ranks = ranks;
  job.micro_batches = micro_batches;
  job.pipeline.order = order;
  job.batch = [type = job.forward.type(job.forward.input("x"))](int step) {
    Arrays batch;
    batch.emplace("x", random_array(type, random_key(static_cast<uint64_t>(step), "x")));
    return batch;
  };
  return job;
}

struct TrafficCase {
  std::string what;
  const char* graph;
  int ranks;
  int64_t micro_batches;
  double clip_norm;
  Traffic expected;
};

const TrafficCase kTrafficCases[] = {
    // An activation and a gradient over each boundary for each micro-batch; the loss in the verdict.
    {"a chain",
     kChain,
     3,
     1,
     0,
     {{"message 0->1 1152 bytes", 1},
      {"message 1->2 960 bytes", 1},
      {"message 2->1 960 bytes", 1},
      {"message 1->0 1152 bytes", 1},
      {"all_gather of 0,1,2 8 bytes", 1}}},
    {"a chain in micro-batches",
     kChain,
     3,
     4,
     0,
     {{"message 0->1 288 bytes", 4},
      {"message 1->2 240 bytes", 4},
      {"message 2->1 240 bytes", 4},
      {"message 1->0 288 bytes", 4},
      {"all_gather of 0,1,2 8 bytes", 1}}},
    // The squared norm of each gradient comes with the loss.
    {"a clipped chain",
     kChain,
     3,
     4,
     1,
     {{"message 0->1 288 bytes", 4},
      {"message 1->2 240 bytes", 4},
      {"message 2->1 240 bytes", 4},
      {"message 1->0 288 bytes", 4},
      {"all_gather of 0,1,2 32 bytes", 1}}},
    // Each rank sends its rows; gradients of weights are reduced once in a step, on the last
    // stage with the loss.
    {"a chain on two ranks for each stage",
     kChain,
     6,
     4,
     0,
     {{"message 0->2 144 bytes", 4},
      {"message 1->3 144 bytes", 4},
      {"message 2->4 120 bytes", 4},
      {"message 3->5 120 bytes", 4},
      {"message 4->2 120 bytes", 4},
      {"message 5->3 120 bytes", 4},
      {"message 2->0 144 bytes", 4},
      {"message 3->1 144 bytes", 4},
      {"all_reduce of 0,1 192 bytes", 1},
      {"all_reduce of 2,3 256 bytes", 1},
      {"all_reduce of 4,5 192 bytes", 1},
      {"all_gather of 0,1,2,3,4,5 8 bytes", 1}}},
    // Of six rows one rank has all, of two others each three.
    {"a chain on one, two and two ranks",
     kChain,
     5,
     4,
     0,
     {{"message 0->1 144 bytes", 4},
      {"message 0->2 144 bytes", 4},
      {"message 1->3 120 bytes", 4},
      {"message 2->4 120 bytes", 4},
      {"message 3->1 120 bytes", 4},
      {"message 4->2 120 bytes", 4},
      {"message 1->0 144 bytes", 4},
      {"message 2->0 144 bytes", 4},
      {"all_reduce of 1,2 256 bytes", 1},
      {"all_reduce of 3,4 192 bytes", 1},
      {"all_gather of 0,1,2,3,4 8 bytes", 1}}},
    // The table goes to the last stage and its gradient comes back, once in a step.
    {"a tied table",
     kTied,
     2,
     4,
     0,
     {{"message 0->1 288 bytes", 4},
      {"message 1->0 288 bytes", 4},
      {"message 0->1 192 bytes", 1},
      {"message 1->0 192 bytes", 1},
      {"all_gather of 0,1 8 bytes", 1}}},
    // Each element of the table is sent once, and so is each of its gradient; stage 0 adds its own, whole.
    {"a tied table on two ranks for each stage",
     kTied,
     4,
     4,
     0,
     {{"message 0->2 144 bytes", 4},
      {"message 1->3 144 bytes", 4},
      {"message 2->0 144 bytes", 4},
      {"message 3->1 144 bytes", 4},
      {"message 0->2 96 bytes", 1},
      {"message 1->3 96 bytes", 1},
      {"message 2->0 96 bytes", 1},
      {"message 3->1 96 bytes", 1},
      {"all_gather of 2,3 192 bytes", 1},
      {"reduce_scatter of 2,3 192 bytes", 1},
      {"all_gather of 0,1 192 bytes", 1},
      {"all_reduce of 0,1 192 bytes", 1},
      {"all_reduce of 2,3 64 bytes", 1},
      {"all_gather of 0,1,2,3 8 bytes", 1}}},
};

TEST(StageTraffic, IsWhatStagesNeed) {
  for (const TrafficCase& one : kTrafficCases) {
    if (ranks_are_processes()) return;  // each sees what it sends alone
    for (const Order order : {Order::gpipe, Order::one_forward_one_backward, Order::zero_bubble}) {
      const Traffic traffic =
          traffic_of_step(traffic_job(one.graph, one.ranks, one.micro_batches, order, one.clip_norm));
      EXPECT_EQ(traffic, one.expected) << one.what << ", " << name_of(order);
    }
  }
}

}  // namespace
}  // namespace partita

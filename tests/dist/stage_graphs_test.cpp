// Small graphs whose values pass between stages in all ways that there are, under every order, on ranks of their own
// and on shared ones, against the interpreter in f64.

#include <gtest/gtest.h>

#include "base/philox.h"
#include "ir/ops/registry.h"
#include "support/job.h"
#include "support/random_plan.h"
#include "support/ranks.h"

namespace partita {
namespace {

struct StageGraph {
  const char* name;
  int stages;
  const char* nodes;  // follow the inputs %x and %label, whose batch is cut
};

// Each has a loss of its rows' sums, so no micro-batch needs another one.
constexpr StageGraph kStageGraphs[]{
    {"skips over stages", 4, R"(
state %w0: f64[4,4] parameter normal(0,0.5)
state %w2: f64[4,4] parameter normal(0,0.5)
%a = matmul(%x, %w0) : f64[24,4] ; stage=0
%b = tanh(%a) : f64[24,4] ; stage=1
%c = matmul(%b, %w2) : f64[24,4] ; stage=2
%d = add(%c, %a) : f64[24,4] ; stage=3
%e = mul(%d, %b) : f64[24,4] ; stage=3
%loss = reduce(%e) {axes=[0,1], scale=0.04} : f64[] ; stage=3
output loss = %loss
)"},
    {"a parameter on three stages", 3, R"(
state %w: f64[4,4] parameter normal(0,0.5)
%a = matmul(%x, %w) : f64[24,4] ; stage=0
%b = tanh(%a) : f64[24,4] ; stage=1
%c = matmul(%b, %w) : f64[24,4] ; stage=1
%d = matmul(%c, %w) : f64[24,4] ; stage=2
%e = square(%d) : f64[24,4] ; stage=2
%loss = reduce(%e) {axes=[0,1], scale=0.04} : f64[] ; stage=2
output loss = %loss
)"},
    {"a parameter of the last stage and of the first", 3, R"(
state %w: f64[4,4] parameter normal(0,0.5)
state %v: f64[4,4] parameter normal(0,0.5)
%a = mul(%x, %x) : f64[24,4] ; stage=0
%b = matmul(%a, %v) : f64[24,4] ; stage=1
%p = matmul(%b, %w) : f64[24,4] ; stage=2
%q = matmul(%p, %v) : f64[24,4] ; stage=2
%e = square(%q) : f64[24,4] ; stage=2
%loss = reduce(%e) {axes=[0,1], scale=0.01} : f64[] ; stage=2
output loss = %loss
)"},
    {"an L2 term of the first stage", 3, R"(
state %w: f64[4,4] parameter normal(0,0.5)
state %v: f64[4,4] parameter normal(0,0.5)
%w_square = square(%w) : f64[4,4] ; stage=0
%l2 = reduce(%w_square) {axes=[0,1], scale=0.1} : f64[] ; stage=0
%a = matmul(%x, %w) : f64[24,4] ; stage=0
%b = tanh(%a) : f64[24,4] ; stage=1
%c = matmul(%b, %v) : f64[24,4] ; stage=2
%e = square(%c) : f64[24,4] ; stage=2
%data = reduce(%e) {axes=[0,1], scale=0.04} : f64[] ; stage=2
%loss = add(%data, %l2) : f64[] ; stage=2
output loss = %loss
output l2 = %l2
)"},
    {"an L2 term of the first stage on the last", 2, R"(
state %w: f64[4,4] parameter normal(0,0.5)
%a = matmul(%x, %w) : f64[24,4] ; stage=0
%e = square(%a) : f64[24,4] ; stage=1
%data = reduce(%e) {axes=[0,1], scale=0.04} : f64[] ; stage=1
%w_square = square(%w) : f64[4,4] ; stage=1
%l2 = reduce(%w_square) {axes=[0,1], scale=0.1} : f64[] ; stage=1
%loss = add(%data, %l2) : f64[] ; stage=1
output loss = %loss
)"},
    {"a loss of every stage", 3, R"(
state %w: f64[4,4] parameter normal(0,0.5)
state %v: f64[4,4] parameter normal(0,0.5)
%a = matmul(%x, %w) : f64[24,4] ; stage=0
%aux0 = reduce(%a) {axes=[0,1], scale=0.01} : f64[] ; stage=0
%b = tanh(%a) : f64[24,4] ; stage=1
%aux1 = reduce(%b) {axes=[0,1], scale=0.02} : f64[] ; stage=1
%some = add(%aux0, %aux1) : f64[] ; stage=1
%c = matmul(%b, %v) : f64[24,4] ; stage=2
%e = square(%c) : f64[24,4] ; stage=2
%data = reduce(%e) {axes=[0,1], scale=0.04} : f64[] ; stage=2
%loss = add(%data, %some) : f64[] ; stage=2
output loss = %loss
output aux0 = %aux0
output aux1 = %aux1
)"},
    {"a running statistic on each stage", 2, R"(
state %w: f64[4,4] parameter normal(0,0.5)
state %mean0: f64[4] statistic zeros
state %mean1: f64[4] statistic ones
%a = matmul(%x, %w) : f64[24,4] ; stage=0
%sum0 = reduce(%a) {axes=[0], scale=0.00416666666666} : f64[4] ; stage=0
%kept0 = scale(%mean0) {scale=0.9} : f64[4] ; stage=0
%next0 = add(%kept0, %sum0) : f64[4] ; stage=0
store %mean0 = %next0
%b = tanh(%a) : f64[24,4] ; stage=1
%sum1 = reduce(%b) {axes=[0], scale=0.00416666666666} : f64[4] ; stage=1
%kept1 = scale(%mean1) {scale=0.9} : f64[4] ; stage=1
%next1 = add(%kept1, %sum1) : f64[4] ; stage=1
store %mean1 = %next1
%e = square(%b) : f64[24,4] ; stage=1
%loss = reduce(%e) {axes=[0,1], scale=0.04} : f64[] ; stage=1
output loss = %loss
)"},
    {"stages without parameters", 4, R"(
state %w: f64[4,4] parameter normal(0,0.5)
%a = square(%x) : f64[24,4] ; stage=0
%b = matmul(%a, %w) : f64[24,4] ; stage=1
%c = tanh(%b) : f64[24,4] ; stage=2
%d = sigmoid(%c) : f64[24,4] ; stage=2
%e = square(%d) : f64[24,4] ; stage=3
%loss = reduce(%e) {axes=[0,1], scale=0.04} : f64[] ; stage=3
output loss = %loss
)"},
    {"a value of the forward and the backward of several stages", 3, R"(
state %w: f64[4,4] parameter normal(0,0.5)
%a = matmul(%x, %w) : f64[24,4] ; stage=0
%b = mul(%a, %a) : f64[24,4] ; stage=0
%c = mul(%b, %a) : f64[24,4] ; stage=1
%d = mul(%c, %a) : f64[24,4] ; stage=2
%f = mul(%d, %b) : f64[24,4] ; stage=2
%loss = reduce(%f) {axes=[0,1], scale=0.01} : f64[] ; stage=2
output loss = %loss
)"},
    {"recomputed over the boundaries", 3, R"(
state %w: f64[4,4] parameter normal(0,0.5)
state %v: f64[4,4] parameter normal(0,0.5)
%a = matmul(%x, %w) : f64[24,4] ; stage=0
%b = tanh(%a) : f64[24,4] ; stage=0 recompute=one
%c = mul(%b, %a) : f64[24,4] ; stage=1 recompute=one
%d = matmul(%c, %v) : f64[24,4] ; stage=1 recompute=two
%f = mul(%d, %b) : f64[24,4] ; stage=2 recompute=two
%g = tanh(%f) : f64[24,4] ; stage=2 recompute=two
%h = mul(%g, %g) : f64[24,4] ; stage=2
%loss = reduce(%h) {axes=[0,1], scale=0.04} : f64[] ; stage=2
output loss = %loss
)"},
    {"scalar parameters", 3, R"(
state %s: f64[] parameter constant(0.7)
state %t: f64[] parameter constant(-0.4)
%wide = broadcast_to(%s) {shape=[24,4]} : f64[24,4] ; stage=0
%a = mul(%x, %wide) : f64[24,4] ; stage=0
%b = tanh(%a) : f64[24,4] ; stage=1
%wide2 = broadcast_to(%t) {shape=[24,4]} : f64[24,4] ; stage=1
%c = mul(%b, %wide2) : f64[24,4] ; stage=1
%wide3 = broadcast_to(%s) {shape=[24,4]} : f64[24,4] ; stage=2
%d = add(%c, %wide3) : f64[24,4] ; stage=2
%e = square(%d) : f64[24,4] ; stage=2
%loss = reduce(%e) {axes=[0,1], scale=0.04} : f64[] ; stage=2
output loss = %loss
)"},
    {"two outputs, one of them behind the loss", 3, R"(
state %w: f64[4,4] parameter normal(0,0.5)
%a = matmul(%x, %w) : f64[24,4] ; stage=0
%e = square(%a) : f64[24,4] ; stage=1
%loss = reduce(%e) {axes=[0,1], scale=0.04} : f64[] ; stage=1
%m = relu(%a) : f64[24,4] ; stage=2
%metric = reduce(%m) {axes=[0,1], scale=1} : f64[] ; stage=2
output loss = %loss
output metric = %metric
)"},
    {"a loss on the first stage", 2, R"(
state %w: f64[4,4] parameter normal(0,0.5)
%a = matmul(%x, %w) : f64[24,4] ; stage=0
%e = square(%a) : f64[24,4] ; stage=0
%loss = reduce(%e) {axes=[0,1], scale=0.04} : f64[] ; stage=0
%twice = scale(%loss) {scale=2} : f64[] ; stage=1
output loss = %loss
output twice = %twice
)"},
    {"a first stage that is not trained", 3, R"(
state %f: f64[4,4] parameter normal(0,0.5) frozen
state %w: f64[4,4] parameter normal(0,0.5)
%a = matmul(%x, %f) : f64[24,4] ; stage=0
%b = matmul(%a, %w) : f64[24,4] ; stage=1
%c = tanh(%b) : f64[24,4] ; stage=2
%e = square(%c) : f64[24,4] ; stage=2
%loss = reduce(%e) {axes=[0,1], scale=0.04} : f64[] ; stage=2
output loss = %loss
)"},
    {"integers and conditions between stages", 3, R"(
state %w: f64[4,4] parameter normal(0,0.5)
%a = matmul(%x, %w) : f64[24,4] ; stage=0
%zero = constant() {value=0, dtype=f64, shape=[24,4]} : f64[24,4] ; stage=0
%below = less(%a, %zero) : bool[24,4] ; stage=0
%chosen = argmax(%a) : i64[24] ; stage=0
%columns = reshape(%chosen) {shape=[24,1]} : i64[24,1] ; stage=0
%b = neg(%a) : f64[24,4] ; stage=1
%c = select(%below, %b, %a) : f64[24,4] ; stage=1
%soft = log_softmax(%c) : f64[24,4] ; stage=2
%d = take_along(%soft, %columns) : f64[24,1] ; stage=2
%loss = reduce(%d) {axes=[0,1], scale=-0.04} : f64[] ; stage=2
output loss = %loss
)"},
    {"inputs of every stage", 3, R"(
state %w: f64[4,4] parameter normal(0,0.5)
state %v: f64[4,4] parameter normal(0,0.5)
%a = matmul(%x, %w) : f64[24,4] ; stage=0
%b = add(%a, %x) : f64[24,4] ; stage=1
%c = matmul(%b, %v) : f64[24,4] ; stage=1
%d = sub(%c, %x) : f64[24,4] ; stage=2
%e = square(%d) : f64[24,4] ; stage=2
%loss = reduce(%e) {axes=[0,1], scale=0.04} : f64[] ; stage=2
output loss = %loss
)"},
    {"a parameter that nothing leads to", 2, R"(
state %w: f64[4,4] parameter normal(0,0.5)
state %u: f64[4,4] parameter normal(0,0.5)
%a = matmul(%x, %w) : f64[24,4] ; stage=0
%e = square(%a) : f64[24,4] ; stage=1
%loss = reduce(%e) {axes=[0,1], scale=0.04} : f64[] ; stage=1
output loss = %loss
)"},
    {"a product of parameters for the rows of later stages", 3, R"(
state %w: f64[4,4] parameter normal(0,0.5)
state %v: f64[4,4] parameter normal(0,0.5)
%wv = matmul(%w, %v) : f64[4,4] ; stage=0
%a = square(%x) : f64[24,4] ; stage=0
%b = matmul(%a, %wv) : f64[24,4] ; stage=1
%c = tanh(%b) : f64[24,4] ; stage=1
%d = matmul(%c, %wv) : f64[24,4] ; stage=2
%e = square(%d) : f64[24,4] ; stage=2
%loss = reduce(%e) {axes=[0,1], scale=0.04} : f64[] ; stage=2
output loss = %loss
)"},
    {"dropout on every stage", 3, R"(
state %step: i64[] counter zeros
state %w: f64[4,4] parameter normal(0,0.5)
%a = matmul(%x, %w) : f64[24,4] ; stage=0
%p = dropout(%a, %step) {rate=0.3, key=1} : f64[24,4] ; stage=0
%q = dropout(%p, %step) {rate=0.3, key=2} : f64[24,4] ; stage=1
%r = dropout(%q, %step) {rate=0.3, key=3} : f64[24,4] ; stage=2
%e = square(%r) : f64[24,4] ; stage=2
%loss = reduce(%e) {axes=[0,1], scale=0.04} : f64[] ; stage=2
output loss = %loss
)"},
};

Job job_of_graph(const StageGraph& one, bool is_clipped) {
  Job job;
  job.forward = parse_graph("partita graph 1\ngraph stages\ninput %x: f64[24,4] batch=0\n" + std::string(one.nodes + 1),
                            all_ops());
  job.training.optimizer = {.kind = OptimizerKind::adamw, .weight_decay = 0.1, .clip_norm = is_clipped ? 0.3 : 0.0};
  job.training.output_gradients = true;
  job.states = initial_states(job.forward, /*seed=*/3);
  job.steps = 3;
  job.batch = [type = job.forward.type(job.forward.input("x"))](int step) {
    Arrays batch;
    batch.emplace("x", random_array(type, random_key(static_cast<uint64_t>(step), "x")));
    return batch;
  };
  return job;
}

struct Interleaving {
  int ranks;
  int64_t interleave;
};

/// A group for each stage, of one rank or more; fewer groups; one rank for all.
std::vector<Interleaving> places_for(int stages) {
  std::vector<Interleaving> places{{stages, 1}, {stages + 1, 1}, {1, stages}, {3, stages}};
  if (stages % 2 == 0) places.push_back({2, stages / 2});
  if (stages == 4) places.push_back({4, 2});
  return places;
}

void expect_graph_under(Job job, const JobResult& oracle, const std::string& what) {
  for (const Order order : {Order::gpipe, Order::one_forward_one_backward, Order::interleaved, Order::zero_bubble}) {
    job.pipeline.order = order;
    const std::string all = fmt::format("{}, {}", what, name_of(order));
    SCOPED_TRACE(all);
    try {
      expect_same_training(run_job(job), oracle, 1e-9, all);
    } catch (const std::exception& error) {
      ADD_FAILURE() << all << ": " << error.what();
    }
  }
}

TEST(StageGraphs, AreOneRank) {
  for (const StageGraph& one : kStageGraphs) {
    for (const bool is_clipped : {false, true}) {
      Job job = job_of_graph(one, is_clipped);
      const JobResult oracle = interpret_job(job);
      for (const auto& [ranks, interleave] : places_for(one.stages)) {
        if (!can_run(ranks)) continue;
        for (const int64_t micro_batches : {1, 3, 4}) {
          job.ranks = ranks;
          job.pipeline.interleave = interleave;
          job.micro_batches = micro_batches;
          job.zero = {.level = (micro_batches + ranks) % 4, .threshold = 0};
          expect_graph_under(job, oracle,
                             fmt::format("{}, {} ranks, {} stages each, {} micro-batches, clipped: {}", one.name, ranks,
                                         interleave, micro_batches, is_clipped));
        }
      }
    }
  }
}

// In micro-batches, with parameters that are gathered where they are used.
TEST(StageGraphs, AreOneRankWithoutStages) {
  for (const StageGraph& one : kStageGraphs) {
    Job job = job_of_graph(one, /*is_clipped=*/true);
    const JobResult oracle = interpret_job(job);
    if (!can_run(2)) return;
    job.ranks = 2;
    job.pipeline.stages = 1;
    for (const int64_t micro_batches : {1, 3}) {
      job.micro_batches = micro_batches;
      for (const int64_t level : {0, 3}) {
        job.zero = {.level = level, .threshold = 0};
        expect_graph_under(job, oracle, fmt::format("{}, {} micro-batches, level {}", one.name, micro_batches, level));
      }
    }
  }
}

// Under plans that cut everything at random, on groups of several ranks.
TEST(StageGraphs, AreOneRankUnderRandomPlans) {
  for (const StageGraph& one : kStageGraphs) {
    Job job = job_of_graph(one, /*is_clipped=*/true);
    const JobResult oracle = interpret_job(job);
    for (const int ranks : {2 * one.stages, 2 * one.stages - 1}) {
      if (!can_run(ranks) || ranks > 8) continue;
      job.ranks = ranks;
      for (const int64_t micro_batches : {1, 2}) {
        job.micro_batches = micro_batches;
        for (uint64_t seed = 0; seed < 3; ++seed) {
          job.stage_plan = [seed](const Graph& graph, int64_t group) {
            return random_plan(graph, Mesh({{"a", group}}), seed + 17);
          };
          expect_graph_under(
              job, oracle,
              fmt::format("{}, {} ranks, {} micro-batches, seed {}", one.name, ranks, micro_batches, seed));
        }
      }
    }
  }
}

}  // namespace
}  // namespace partita

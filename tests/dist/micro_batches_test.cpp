// A step in micro-batches is the step of the whole batch: every model, on any number of ranks and under every mode.

#include <gtest/gtest.h>

#include <map>

#include "base/test_refusal.h"
#include "compiler/partition/collectives.h"
#include "ir/ops/registry.h"
#include "support/job.h"
#include "support/ranks.h"
#include "support/texts/texts.h"

namespace partita {
namespace {

struct MicroCase {
  std::string spec;
  Shape image;
  int64_t batch;
  bool has_statistics_groups = false;
};

const std::vector<MicroCase>& micro_cases() {
  static const std::vector<MicroCase> all{
      {"mlp:hidden=12,dropout=0.2", {1, 6, 5}, 24},
      {"lenet:dropout=0.2", {1, 28, 28}, 24},
      {"resnet18:width=4,size=8", {3, 8, 8}, 72, true},
      {"gpt:layers=1,hidden=8,heads=4,seq=6,vocab=12,dropout=0.2", {}, 24},
      {"moe:layers=1,hidden=8,heads=4,seq=6,vocab=12,experts=4,capacity=0.75,shared=1,dropout=0.2", {}, 24},
      {"llama:layers=1,hidden=16,heads=4,kv_heads=2,intermediate=12,seq=6,vocab=12", {}, 24},
  };
  return all;
}

Job micro_job(const MicroCase& one, int64_t groups) {
  return model_job(one.spec, {.image = one.image, .batch = one.batch, .steps = 4, .statistics_groups = groups});
}

// Norms have the groups of the micro-batches in both.
TEST(MicroBatches, AreTheWholeBatch) {
  for (const MicroCase& one : micro_cases()) {
    std::map<int64_t, JobResult> oracles;  // by groups
    for (const int64_t count : {2, 3, 4}) {
      for (const int ranks : {1, 2, 3}) {
        if (!can_run(ranks)) continue;
        const int64_t groups = one.has_statistics_groups ? count * ranks : 1;
        Job job = micro_job(one, groups);
        if (!oracles.contains(groups)) oracles.emplace(groups, interpret_job(job));
        const JobResult& oracle = oracles.at(groups);
        job.ranks = ranks;
        job.micro_batches = count;
        const std::string what = fmt::format("{}, {} micro-batches, {} ranks", one.spec, count, ranks);
        const JobResult result = run_job(job);
        EXPECT_EQ(result.program.local().mesh.micro_batches(), count) << what;
        expect_same_training(result, oracle, 1e-9, what);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(MicroBatches, AreTheWholeBatchUnderEveryMode) {
  for (const MicroCase& one : micro_cases()) {
    Job job = micro_job(one, one.has_statistics_groups ? 4 : 1);
    const JobResult oracle = interpret_job(job);
    for (const Parallel mode : {Parallel::none, Parallel::hybrid, Parallel::semi, Parallel::automatic}) {
      const int ranks = mode == Parallel::semi ? 6 : 4;
      if (!can_run(ranks)) continue;
      job.ranks = ranks;
      job.micro_batches = 4;
      job.plan = [&](const Graph& graph) {
        const PlanOptions options{.parallel = mode};
        return make_plan(graph, all_ops(), make_mesh(graph, ranks, options), options);
      };
      if (one.has_statistics_groups && mode == Parallel::hybrid) continue;  // has groups of its own for each rank
      expect_same_training(run_job(job), oracle, 1e-9, fmt::format("{}, {}", one.spec, name_of(mode)));
    }
  }
}

TEST(MicroBatches, RunUnderFastKernels) {
  for (const MicroCase& one : micro_cases()) {
    Job job = micro_job(one, one.has_statistics_groups ? 8 : 1);
    const JobResult oracle = interpret_job(job);
    if (!can_run(2)) return;
    job.ranks = 2;
    job.micro_batches = 4;
    job.kernels = KernelSet::fast;
    expect_same_training(run_job(job), oracle, 1e-9, one.spec);
  }
}

/// How often nodes of each op stand in the local graph, and how many bytes collectives of it move in a step.
struct Traffic {
  std::map<std::string, int> nodes;
  int64_t reduced_bytes = 0;
};

Traffic traffic_of(const Program& program) {
  Traffic traffic;
  for (const Node& node : program.local().graph.nodes) {
    ++traffic.nodes[node.op];
    if (node.op == "all_reduce") {
      traffic.reduced_bytes += program.local().largest(node.inputs[0]).bytes();
      for (const Axes& axes : program.local().shardings[node.inputs[0]].dims) {
        EXPECT_TRUE(std::find(axes.begin(), axes.end(), program.local().mesh.micro_axis()) == axes.end()) << node.name;
      }
    }
  }
  return traffic;
}

// Accumulation comes before the reduction over ranks, which moves what it moves without micro-batches.
TEST(MicroBatches, ReduceOnceOverRanks) {
  for (const MicroCase& one : micro_cases()) {
    if (one.has_statistics_groups) continue;
    Job job = micro_job(one, 1);
    job.steps = 0;
    job.ranks = 2;
    const auto program_of = [&](int64_t count) {
      job.micro_batches = count;
      const auto device = make_cpu_device(all_ops(), 1, KernelSet::reference);
      return compile(
          job.forward, all_ops(), device->catalog(),
          {.ranks = 2, .mesh = Mesh({{"data", 2}}), .plan = {.micro_batches = count}, .training = job.training});
    };
    const Traffic whole = traffic_of(program_of(1)), cut = traffic_of(program_of(4));
    EXPECT_EQ(cut.reduced_bytes, whole.reduced_bytes) << one.spec;
    EXPECT_EQ(cut.nodes.at("all_reduce"), whole.nodes.at("all_reduce")) << one.spec;
    EXPECT_GE(cut.nodes.at("accumulate"), whole.nodes.at("all_reduce")) << one.spec;
    EXPECT_EQ(whole.nodes.count("accumulate"), 0u) << one.spec;
  }
}

// Activations are those of one micro-batch.
TEST(MicroBatches, TakeLessMemory) {
  const MicroCase one{"gpt:layers=4,hidden=32,heads=4,seq=64,vocab=64", {}, 32};
  const auto arena = [&](int64_t count) {
    const Job job = micro_job(one, 1);
    const auto device = make_cpu_device(all_ops(), 1, KernelSet::fast);
    return compile(job.forward, all_ops(), device->catalog(),
                   {.plan = {.micro_batches = count}, .training = job.training})
        .schedule()
        .arena_bytes;
  };
  EXPECT_LT(arena(4), arena(1) * 45 / 100);
  EXPECT_LT(arena(16), arena(4) / 2);
}

TEST(MicroBatches, TextsAreReadBack) {
  for (const MicroCase& one : micro_cases()) {
    Job job = micro_job(one, one.has_statistics_groups ? 4 : 1);
    const auto device = make_cpu_device(all_ops(), 1, KernelSet::fast);
    const Program program =
        compile(job.forward, all_ops(), device->catalog(),
                {.ranks = 2, .mesh = Mesh({{"data", 2}}), .plan = {.micro_batches = 2}, .training = job.training});
    const std::string plan = print(program.plan(), program.graph, all_ops());
    EXPECT_EQ(print(parse_plan(plan, program.graph, all_ops()), program.graph, all_ops()), plan);
    const std::string local = print(program.local(), all_ops());
    EXPECT_EQ(print(parse_local_graph(local, all_ops()), all_ops()), local);
    const std::string schedule = print(program.schedule(), program.local());
    EXPECT_EQ(print(parse_schedule(schedule, program.local()), program.local()), schedule);
    EXPECT_NE(schedule.find("\nmicro\n"), std::string::npos);
    EXPECT_NE(schedule.find("\nlate\n"), std::string::npos);
  }
}

std::string refusal_of_cut(const std::string& text, int64_t count, int ranks = 1) {
  const auto device = make_cpu_device(all_ops(), 1, KernelSet::reference);
  return refusal_of([&] {
    compile(parse_graph(text, all_ops()), all_ops(), device->catalog(),
            {.ranks = ranks,
             .plan = {.parallel = Parallel::hybrid, .micro_batches = count},
             .training = TrainingOptions{}});
  });
}

constexpr const char* kCentred = R"(partita graph 1
graph centred
input %x: f64[6,4] batch=0
state %w: f64[4] parameter normal(0,1)
%p = mul(%x, %w) : f64[6,4]
%mean = reduce(%p) {kind=sum, axes=[0,1], keep_dims=false, scale=0.25} : f64[] ; scope=net
%far = sub(%p, %mean) : f64[6,4] ; scope=net
%square = mul(%far, %far) : f64[6,4]
%loss = reduce(%square) {kind=sum, axes=[0,1], keep_dims=false, scale=1} : f64[]
output loss = %loss
)";

constexpr const char* kTwice = R"(partita graph 1
graph twice
input %x: f64[6,4] batch=0
state %w: f64[4] parameter normal(0,1)
%mean = reduce(%x) {kind=sum, axes=[0,1], keep_dims=false, scale=0.25} : f64[] ; scope=net
%far = sub(%x, %mean) : f64[6,4] ; scope=net
%square = mul(%far, %far) : f64[6,4]
%mean2 = reduce(%square) {kind=sum, axes=[0,1], keep_dims=false, scale=0.25} : f64[] ; scope=net
%again = sub(%far, %mean2) : f64[6,4] ; scope=net
%p = mul(%again, %w) : f64[6,4]
%loss = reduce(%p) {kind=sum, axes=[0,1], keep_dims=false, scale=1} : f64[]
output loss = %loss
)";

TEST(MicroBatches, RefusalsSayWhatIsLegal) {
  EXPECT_EQ(
      refusal_of_cut(kCentred, 4),
      "[micro-batches] the global batch does not divide, got 4 micro-batches of batch 6, expected one of 1, 2, 3, 6");
  EXPECT_EQ(
      refusal_of_cut(kCentred, 6, 4),
      "[micro-batches] a micro-batch has fewer rows than ranks that share it, got 6 micro-batches of batch 6 on 4 "
      "ranks, expected at most 1");
  EXPECT_EQ(refusal_of_cut(kCentred, 2),
            "[micro-batches] a node of one micro-batch needs a result of the whole batch, got net/far with 2 "
            "micro-batches, expected 1: it uses a result of net/mean, which needs all of them");
  EXPECT_EQ(refusal_of_cut(kCentred, 1), "accepted");
  // The mean of what no parameter makes comes first; that of what needs such a mean does not.
  EXPECT_EQ(refusal_of_cut(kTwice, 2),
            "[micro-batches] a node of one micro-batch needs a result of the whole batch, got net/again with 2 "
            "micro-batches, expected 1: it uses a result of net/mean2, which needs all of them");
  std::string once = kTwice;
  once.replace(once.find("sub(%far, %mean2)"), 17, "sub(%far, %mean)");
  EXPECT_EQ(refusal_of_cut(once, 2), "accepted");
  EXPECT_EQ(refusal_of_cut(kCentred, 0), "[mesh] bad number of micro-batches, got 0, expected 1 to 65536");
}

}  // namespace
}  // namespace partita

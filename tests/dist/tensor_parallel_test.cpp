// Transformer blocks cut over an axis "tensor" in addition to the batch, with and without the sequence between them.
// The numbers are those of one rank, and the collectives those of Shoeybi et al. (2019) and Korthikanti et al. (2022).

#include <gtest/gtest.h>

#include "compiler/partition/collectives.h"
#include "ir/ops/registry.h"
#include "support/job.h"
#include "support/ranks.h"

namespace partita {
namespace {

const std::string kBlocksGpt = "gpt:layers=2,hidden=24,heads=6,seq=8,vocab=12,dropout=0.2";
const std::string kBlocksLlama = "llama:layers=2,hidden=24,heads=6,kv_heads=3,seq=8,vocab=12";

JobResult run_blocks(Job job, int ranks, const BlockSharding& blocks) {
  const PlanOptions options{.parallel = Parallel::automatic, .blocks = blocks};
  job.ranks = ranks;
  job.mesh = make_mesh(job.forward, ranks, options);
  job.plan = [options, mesh = job.mesh](const Graph& graph) { return make_plan(graph, all_ops(), mesh, options); };
  return run_job(job);
}

struct BlockCase {
  int ranks;
  int64_t tensor;
};

void expect_numbers_of_one_rank(
    const std::string& spec, const std::vector<BlockCase>& cases,
    const std::function<void(Job&)>& change = [](Job&) {}) {
  Job job = model_job(spec, {.batch = 12, .steps = 4});
  const JobResult oracle = interpret_job(job);
  change(job);
  for (const auto& [ranks, tensor] : cases) {
    if (!can_run(ranks)) continue;
    for (const bool sequence : {false, true}) {
      const JobResult result = run_blocks(job, ranks, {.tensor = tensor, .sequence = sequence});
      expect_same_training(result, oracle, 1e-9,
                           fmt::format("{}, {} ranks, tensor {}{}", spec, ranks, tensor, sequence ? ", sequence" : ""));
    }
  }
}

const std::vector<BlockCase> kBlockCases{{2, 2}, {3, 3}, {4, 2}, {6, 3}, {6, 2}, {8, 4}, {8, 2}, {6, 6}};

TEST(TensorParallel, KeepsTheNumbersOfGpt) { expect_numbers_of_one_rank(kBlocksGpt, kBlockCases); }
TEST(TensorParallel, KeepsTheNumbersOfLlama) { expect_numbers_of_one_rank(kBlocksLlama, kBlockCases); }

TEST(TensorParallel, OfSizesThatDoNotDivide) {
  for (const char* spec : {"gpt:layers=2,hidden=20,heads=5,seq=7,vocab=11,dropout=0.2",
                           "llama:layers=1,hidden=24,heads=4,kv_heads=1,intermediate=13,seq=7,vocab=11,tied=1"}) {
    expect_numbers_of_one_rank(spec, {{2, 2}, {3, 3}, {4, 4}, {8, 4}});
  }
}

TEST(TensorParallel, WithMicroBatchesOptimizerShardingAndRecomputation) {
  for (const std::string& spec : {kBlocksGpt, kBlocksLlama}) {
    for (const int64_t level : {1, 2, 3}) {
      const BlockCase one = level == 2 ? BlockCase{6, 3} : BlockCase{4, 2};
      expect_numbers_of_one_rank(spec, {one}, [&](Job& job) {
        job.micro_batches = 2;
        job.zero = {.level = level, .threshold = 0};
        job.training.recompute = level == 2 ? Recompute::selective : Recompute::full;
      });
    }
  }
}

/// Programs of sizes that divide, none of which is equal to another.
Program program_of_blocks(const std::string& spec, int ranks, const BlockSharding& blocks, DType dtype = DType::f64) {
  const Job job = model_job(spec, {.dtype = dtype, .batch = 16});
  TrainingOptions training = job.training;
  training.output_gradients = false;
  const auto device = make_cpu_device(all_ops(), 1, KernelSet::fast);
  return compile(job.forward, all_ops(), device->catalog(),
                 {.ranks = ranks, .plan = {.parallel = Parallel::automatic, .blocks = blocks}, .training = training});
}

/// "forward all_reduce tensor [16{data},32,64]": how often collectives stand in a program that communicate, but for
/// those of single numbers.
std::map<std::string, int> collectives_of(const Program& program) {
  std::map<std::string, int> counts;
  const LocalGraph& local = program.local();
  for (const Node& node : local.graph.nodes) {
    if (!is_collective(node) || is_local(*collective_of(node))) continue;
    const ValueId result = node.outputs[0];
    if (local.graph.type(result).rank() == 0) continue;
    const std::string type = print(local.graph.type(result), local.shardings[result], local.mesh);
    ++counts[fmt::format("{} {} {} {}", name_of(node.phase), node.op, local.mesh.print(axes_of(node, local.mesh)),
                         type.substr(3))];
  }
  return counts;
}

constexpr const char* kTallGpt = "gpt:layers=3,hidden=64,heads=4,seq=32,vocab=96,dropout=0.1";
constexpr const char* kTallLlama = "llama:layers=3,hidden=64,heads=8,kv_heads=4,intermediate=160,seq=32,vocab=96";

/// Collectives of both models: the loss over a cut vocabulary, and each gradient once over the ranks that share its
/// shard.
std::map<std::string, int> shared_collectives(const std::string& spec) {
  const bool is_gpt = spec == kTallGpt;
  std::map<std::string, int> expected{{"forward all_reduce tensor [16{data},32,1]", 2},
                                      {"forward all_reduce tensor [16{data},32]", 1},
                                      {"backward all_reduce data [64,64{tensor}]", 3}};  // proj
  if (is_gpt) {
    expected["backward all_reduce data [64{tensor},64]"] = 9;   // q, k, v
    expected["backward all_reduce data [64{tensor}]"] = 6;      // biases of q and v
    expected["backward all_reduce data [256{tensor},64]"] = 3;  // fc
    expected["backward all_reduce data [256{tensor}]"] = 3;
    expected["backward all_reduce data [64,256{tensor}]"] = 3;
    expected["backward all_reduce data [96{tensor},64]"] = 1;  // of both uses of the table together
  } else {
    expected["backward all_reduce data [64{tensor},64]"] = 3;
    expected["backward all_reduce data [32{tensor},64]"] = 6;
    expected["backward all_reduce data [160{tensor},64]"] = 6;
    expected["backward all_reduce data [64,160{tensor}]"] = 3;
    expected["backward all_reduce data [96{tensor},64]"] = 2;  // the table and the head
  }
  return expected;
}

TEST(TensorParallel, ReducesTwiceInABlockAndItsGradient) {
  for (const char* spec : {kTallGpt, kTallLlama}) {
    auto expected = shared_collectives(spec);
    expected["forward all_reduce tensor [16{data},32,64]"] = 2 * 3 + 1;   // and the table's rows
    expected["backward all_reduce tensor [16{data},32,64]"] = 2 * 3 + 1;  // and the head's
    // The gradients of vectors and positions are linear in a sum over `tensor`, and reduced once over both axes.
    expected["backward all_reduce data,tensor [64]"] = std::string(spec) == kTallGpt ? 20 : 7;
    if (std::string(spec) == kTallGpt) expected["backward all_reduce data,tensor [32,64]"] = 1;
    EXPECT_EQ(collectives_of(program_of_blocks(spec, 4, {.tensor = 2})), expected) << spec;
  }
}

// The vectors of norms and biases, and the positions, are of what is cut along the sequence.
TEST(TensorParallel, AlongTheSequenceScattersAndGathersInstead) {
  for (const char* spec : {kTallGpt, kTallLlama}) {
    auto expected = shared_collectives(spec);
    for (const char* phase : {"forward", "backward"}) {
      expected[fmt::format("{} all_gather tensor [16{{data}},32,64]", phase)] = 2 * 3 + 1;
      expected[fmt::format("{} reduce_scatter tensor [16{{data}},32{{tensor}},64]", phase)] = 2 * 3 + 1;
    }
    if (std::string(spec) == kTallGpt) expected["backward all_reduce data [32{tensor},64]"] = 1;
    expected["backward all_reduce data,tensor [64]"] = std::string(spec) == kTallGpt ? 20 : 7;
    EXPECT_EQ(collectives_of(program_of_blocks(spec, 4, {.tensor = 2, .sequence = true})), expected) << spec;
  }
}

// Two ranks share a head of keys and values, which they alone gather, and whose gradient they scatter.
TEST(TensorParallel, SharesHeadsThatAreFewerThanRanks) {
  const Program program =
      program_of_blocks("llama:layers=3,hidden=64,heads=8,kv_heads=2,seq=32,vocab=96", 4, {.tensor = 4});
  const std::map<std::string, int> counts = collectives_of(program);
  EXPECT_EQ(counts.at("forward all_gather tensor.1 [16,32,16{tensor.0}]"), 2 * 3);
  EXPECT_EQ(counts.at("backward reduce_scatter tensor.1 [16,32,16{tensor.0,tensor.1}]"), 2 * 3);
  EXPECT_EQ(counts.at("forward all_reduce tensor.0,tensor.1 [16,32,64]"), 2 * 3 + 1);
}

/// Bytes that a rank sends for activations over `tensor` in a step: of n ranks it holds (n - 1) / n of what is
/// gathered or scattered, and twice that of what is reduced.
double wire_bytes(const Program& program) {
  double bytes = 0;
  const LocalGraph& local = program.local();
  const Axes tensor = local.mesh.find("tensor");
  for (const Node& node : local.graph.nodes) {
    if (!is_collective(node) || is_local(*collective_of(node)) || axes_of(node, local.mesh) != tensor) continue;
    const Type& type = local.graph.type(node.outputs[0]);
    if (type.rank() != 3 || type.shape[2] == 1) continue;
    const double ways = static_cast<double>(local.mesh.ways(tensor)), share = (ways - 1) / ways;
    // Of the batch each rank of `data` has its part, of the rest what is whole on one side of the collective.
    const double whole = static_cast<double>(type.bytes()) * ways / static_cast<double>(local.mesh.ranks());
    bytes += whole * share * (performs(node, Collective::all_reduce) ? 2 : 1);
  }
  return bytes;
}

TEST(TensorParallel, MovesTheSameBytesAlongTheSequence) {
  for (const char* spec : {kTallGpt, kTallLlama}) {
    for (const auto& [ranks, tensor] : {BlockCase{2, 2}, {4, 2}, {8, 4}, {4, 4}}) {
      const double whole = wire_bytes(program_of_blocks(spec, ranks, {.tensor = tensor}));
      const double cut = wire_bytes(program_of_blocks(spec, ranks, {.tensor = tensor, .sequence = true}));
      const double rows = 16.0 * 32 * 64 * 8 * static_cast<double>(tensor) / ranks;
      EXPECT_DOUBLE_EQ(whole, 14 * 2 * rows * static_cast<double>(tensor - 1) / static_cast<double>(tensor)) << spec;
      EXPECT_DOUBLE_EQ(cut, whole) << spec << " on " << ranks;
    }
  }
}

// Values between the products are kept and computed in parts.
TEST(TensorParallel, AlongTheSequenceTakesLessMemory) {
  const auto arena = [](bool sequence) {
    return program_of_blocks("gpt:layers=6,hidden=32,heads=4,seq=64,vocab=32,dropout=0.1", 4,
                             {.tensor = 4, .sequence = sequence}, DType::f32)
        .schedule()
        .arena_bytes;
  };
  EXPECT_LT(arena(true), arena(false) * 5 / 6);
  const Program program = program_of_blocks(kTallGpt, 4, {.tensor = 4, .sequence = true});
  for (size_t n = 0; n < program.local().graph.nodes.size(); ++n) {
    const Node& node = program.local().graph.nodes[n];
    if (node.op != "layer_norm" && node.op != "dropout" && node.op != "layer_norm_grad") continue;
    int64_t parts = 1;
    for (const Axes& axes : program.local().cuts[n]) parts *= program.local().mesh.ways(axes);
    EXPECT_EQ(parts, 4) << node.name;
  }
}

}  // namespace
}  // namespace partita

#include "planner/network_planner.h"

#include <gtest/gtest.h>

#include <fstream>

#include "frontend/data/readers/test_files.h"
#include "job/program.h"
#include "planner/cluster/presets.h"
#include "runtime/launch/place.h"
#include "training/memory.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

constexpr double kRounding = 1e-5;  // the two prices lower different rows

/// The price of a configuration (`folded`), and of the cuts of its plan file (`whole`).
struct PricedTwice {
  PricedTwice(const std::string& model, const std::string& text) {
    const Configuration given = parse_configuration(text);
    NetworkPlanner planner({.model = model, .cluster = "cpu", .ranks = given.ranks(), .batch = 24});
    const Configuration configuration = completed(given, given.ranks(), planner.batch());
    const PricedPlan plan = planner.priced(configuration);
    folded = plan.price;
    file = planner.plan_file(plan);
    whole = planner.price_of_cuts(*file.cuts, configuration);
  }
  Price folded, whole;
  PlanFile file;
};

void expect_priced_alike(const std::string& model, const std::string& text) {
  SCOPED_TRACE(model + " " + text);
  const PricedTwice priced(model, text);
  const double seconds = priced.folded.step_seconds, bytes = priced.folded.peak_memory();
  EXPECT_NEAR(priced.whole.step_seconds, seconds, kRounding * seconds);
  EXPECT_NEAR(priced.whole.peak_memory(), bytes, kRounding * bytes);
  EXPECT_EQ(priced.file.predicted->step_seconds, seconds);
}

TEST(NetworkPlanner, PricesTheCutsThatItWrites) {
  const std::string gpt = "gpt:layers=5,hidden=64,heads=4,seq=32";
  for (const char* text :
       {"data=4", "data=2,tensor=2,micro_batch=6", "tensor=4,sequence_parallel=true,micro_batch=4",
        "data=2,tensor=2,pipeline=2,micro_batch=3,recompute=full", "context=2,data=2,micro_batch=3"}) {
    expect_priced_alike(gpt, text);
  }
  expect_priced_alike("llama:layers=5,hidden=64,heads=4", "data=2,tensor=2,micro_batch=6");
}

TEST(NetworkPlanner, PredictsTheSearchedCutsThatItWrites) {
  for (const char* model : {"mlp:layers=6,hidden=512", "gpt:layers=5,hidden=64,heads=4,seq=32"}) {
    for (const char* text : {"tensor=4,cuts=searched", "data=2,tensor=2,micro_batch=6,cuts=searched",
                             "data=2,tensor=3,micro_batch=6,cuts=searched"}) {
      SCOPED_TRACE(fmt::format("{} {}", model, text));
      const PricedTwice priced(model, text);
      EXPECT_EQ(priced.file.predicted->step_seconds, priced.whole.step_seconds);
      EXPECT_LE(priced.whole.step_seconds, 1.01 * priced.folded.step_seconds);
    }
  }
}

/// Bytes of the largest rank of the program that a training compiles from the text of a plan.
double arena_of(const std::string& model, const PlanFile& planned) {
  const PlanFile plan = parse_plan_file(print(planned), "plan.txt");
  const ZooModel zoo = make_model(model);
  const auto cores = static_cast<int>(cluster_named("cpu").cores);  // at most the threads of the cluster
  const JobConfig config = completed(with_plan(zoo.recipe, plan), Place{.cores = std::min(cores, this_place().cores)});
  const Program program = make_program(config, {.network = zoo.network(config.training.loss),
                                                .columns = zoo.columns(),
                                                .batch = plan.batch,
                                                .ranks = plan.ranks});
  return static_cast<double>(largest_arena(program));
}

struct MemoryCase {
  std::string model;
  bool has_blocks = true;  // whether it has transformer blocks, to cut and recompute
  bool has_copies = true;  // whether it has repeated layers for stages
};

class PlannedMemory : public testing::TestWithParam<MemoryCase> {};

TEST_P(PlannedMemory, IsThatOfTheArena) {
  std::vector<std::string> configurations{"data=1",
                                          "data=1,micro_batch=4",
                                          "data=2",
                                          "data=4,micro_batch=2",
                                          "data=2,micro_batch=2,zero=1",
                                          "data=4,micro_batch=4,zero=1",
                                          "data=2,micro_batch=4,zero=2",
                                          "data=4,micro_batch=4,zero=2",
                                          "data=2,micro_batch=4,zero=3",
                                          "data=4,micro_batch=4,zero=3"};
  if (GetParam().has_blocks) {
    for (const char* text :
         {"tensor=2", "tensor=4,micro_batch=4", "tensor=2,sequence_parallel=true,micro_batch=8",
          "data=2,tensor=2,micro_batch=4", "data=1,recompute=full", "data=1,recompute=selective,micro_batch=4"})
      configurations.emplace_back(text);
  }
  if (GetParam().has_copies) {
    for (const char* text : {"pipeline=2,micro_batch=4", "pipeline=4,micro_batch=2",
                             "data=2,pipeline=2,micro_batch=2,zero=1", "pipeline=2,interleave=2,micro_batch=4"})
      configurations.emplace_back(text);
  }
  for (const std::string& text : configurations) {
    SCOPED_TRACE(text);
    const Configuration given = parse_configuration(text);
    NetworkPlanner planner({.model = GetParam().model, .ranks = given.ranks(), .batch = 16});
    const PricedPlan plan = planner.priced(completed(given, given.ranks(), planner.batch()));
    const double arena = arena_of(GetParam().model, planner.plan_file(plan));
    EXPECT_NEAR(plan.price.peak_memory() / arena, 1, 0.05);
    for (const StageMemory& group : plan.price.memory) {
      for (const double bytes : {group.parameters, group.optimizer, group.activations}) EXPECT_GT(bytes, 0);
      EXPECT_GE(group.gradients, 0);
      EXPECT_GE(group.workspace, 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, PlannedMemory,
    testing::Values(MemoryCase{"mlp:layers=6,hidden=512", false}, MemoryCase{"lenet", false, false},
                    MemoryCase{"resnet18:size=32", false, false}, MemoryCase{"resnet50:size=32", false},
                    MemoryCase{"wide_resnet", false}, MemoryCase{"inception", false, false}, MemoryCase{"vit:layers=4"},
                    MemoryCase{"gpt"}, MemoryCase{"llama"}, MemoryCase{"llama:lora=4,lora_layers=*"},
                    MemoryCase{"bert:layers=4"}, MemoryCase{"t5", true, false}, MemoryCase{"moe", true, false},
                    MemoryCase{"recommender", false, false}));

// The search obeys estimates, so these must know what the program keeps, and the program must keep no more.
TEST(NetworkPlanner, EstimatesTheMemoryOfOptimizerSharding) {
  for (const char* model :
       {"gpt:layers=8,hidden=512,heads=4,seq=16,vocab=100", "gpt:layers=12,hidden=768,heads=12,seq=64,vocab=5000",
        "llama:layers=8,hidden=512,heads=8,seq=16", "bert:layers=6,hidden=512", "vit:layers=8,hidden=256",
        "mlp:layers=6,hidden=2048"}) {
    for (const char* level : {"0", "1", "2", "3"}) {
      for (const char* rows : {"4", "1"}) {
        const std::string text = fmt::format("data=8,zero={},micro_batch={}", level, rows);
        NetworkPlanner planner({.model = model, .ranks = 8, .batch = 32, .check = true});
        const PricedPlan plan = planner.priced(completed(parse_configuration(text), 8, planner.batch()));
        ASSERT_TRUE(plan.compiled.has_value());
        EXPECT_NEAR(plan.compiled->planned / plan.compiled->bytes(), 1, 0.06) << model << " " << text;
        EXPECT_EQ(plan.compiled->bytes(), plan.price.peak_memory());
      }
    }
  }
}

// The group that takes most need not be that of the largest estimate.
TEST(NetworkPlanner, ChecksTheLargestGroup) {
  for (const char* model : {"gpt:layers=4,hidden=32,heads=4,seq=64,vocab=2048", "mlp:layers=9,hidden=64", "lenet"}) {
    for (const char* text : {"data=2,pipeline=2,micro_batch=2,zero=3", "data=1,pipeline=3,micro_batch=4",
                             "data=2,pipeline=2,micro_batch=1,zero=1,interleave=2,order=interleaved"}) {
      SCOPED_TRACE(fmt::format("{} {}", model, text));
      NetworkPlanner planner({.model = model, .ranks = 4, .batch = 16, .check = true});
      std::optional<PricedPlan> plan;
      try {
        plan = planner.priced(completed(parse_configuration(text), 4, planner.batch()));
      } catch (const InvalidArgument&) {  // more stages than layers
        continue;
      }
      EXPECT_EQ(plan->fullest(), plan->price.peak_memory());
    }
  }
}

TEST(NetworkPlanner, SharesNothingAmongOneRank) {
  for (const char* rows : {"8", "2"}) {
    const auto bytes = [&](const char* level) {
      NetworkPlanner planner(
          {.model = "mlp:layers=3,hidden=1024", .cluster = "h100:1@partita", .ranks = 1, .batch = 8});
      const std::string text = fmt::format("data=1,micro_batch={},zero={}", rows, level);
      return planner.priced(completed(parse_configuration(text), 1, 8)).price.peak_memory();
    };
    for (const char* level : {"1", "2", "3"}) EXPECT_EQ(bytes(level), bytes("0")) << level;
  }
}

/// A forward graph with `blocks` layers between its products that have no parameters.
std::string graph_of_blocks(int blocks) {
  std::string text =
      "partita graph 1\ngraph blocks\ninput %x: f32[32,64] batch=0\ninput %label: i32[32] batch=0\n"
      "state %a: f32[64,64] parameter zeros\nstate %b: f32[10,64] parameter zeros\n"
      "%y0 = matmul(%x, %a) {transpose_a=false, transpose_b=true} : f32[32,64] ; forward scope=net/fc1\n";
  for (int block = 0; block < blocks; ++block) {
    text += fmt::format("%t{0} = tanh(%y{0}) {{}} : f32[32,64] ; forward scope=net/h{0}\n", block);
    text += fmt::format("%y{0} = relu(%t{1}) {{}} : f32[32,64] ; forward scope=net/h{1}\n", block + 1, block);
  }
  return text +
         fmt::format(
             "%z = matmul(%y{}, %b) {{transpose_a=false, transpose_b=true}} : f32[32,10] ; forward scope=net/fc2\n"
             "%e.0, %e.1 = cross_entropy(%z, %label) : f32[32], f32[32,1] ; forward scope=loss\n"
             "%loss = reduce(%e.0) {{kind=sum, axes=[0], keep_dims=false, scale=0.03125}} : f32[] ; forward "
             "scope=loss\noutput loss = %loss\noutput logits = %z\n",
             blocks);
}

TEST(NetworkPlanner, GroupsWithoutParametersHaveMemory) {
  const TempDir folder;
  const std::string path = folder.path() / "graph.txt";
  std::ofstream(path) << graph_of_blocks(8);
  NetworkPlanner planner({.model = path, .cluster = "h100:1@partita", .ranks = 8});
  for (const char* text : {"data=2,pipeline=4,micro_batch=16,zero=1", "data=4,pipeline=2,micro_batch=8,zero=3"}) {
    const Price price = planner.priced(completed(parse_configuration(text), 8, 32)).price;
    for (const StageMemory& memory : price.memory) EXPECT_GT(memory.total(), 0) << text;
  }
}

TEST(NetworkPlanner, ChecksWhatCanBeCompiled) {
  const auto refusal = [](PlanRequest request) {
    request.check = true;
    try {
      NetworkPlanner planner(std::move(request));
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal({.model = "lenet", .dtype = DType::bf16}),
            "[--check] no programs are measured in this type on processors, got bf16, expected f32 or f64");
  EXPECT_EQ(refusal({.model = "lenet", .collectives = CollectiveChoice::whole}),
            "[--collectives] has no effect, got whole on a cluster of processors, expected a chip (--target)");
  EXPECT_EQ(refusal({.model = "lenet", .attention = AttentionChoice::fused}),
            "[--attention] has no effect, got fused on a cluster of processors, expected a chip (--target)");
  EXPECT_EQ(refusal({.model = "lenet", .cluster = "h100", .attention = AttentionChoice::fused}), "accepted");
}

TEST(NetworkPlanner, FindsWhatFitsAsItIsPlaced) {
  const auto placed = [](double memory) {
    NetworkPlanner planner({.model = "resnet50:size=32", .ranks = 4, .batch = 16, .memory = memory});
    const ConfigurationSearch search = planner.searched(parse_pins("data=4"));
    return search.best ? planner.priced(*search.best).price.peak_memory() : 0;
  };
  const double most = placed(1e12);
  for (double memory = most; memory > 0.8 * most; memory *= 0.95) EXPECT_LE(placed(memory), memory);
  EXPECT_GT(placed(most), 0);
  EXPECT_GT(placed(0.9 * most), 0);
  EXPECT_EQ(placed(0.1 * most), 0);
}

}  // namespace
}  // namespace partita

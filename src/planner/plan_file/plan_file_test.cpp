#include "planner/plan_file/plan_file.h"

#include <gtest/gtest.h>

#include <random>

#include "base/test_refusal.h"
#include "compiler/autodiff/training_graph.h"
#include "compiler/plan/assign_stages.h"
#include "compiler/search/named_cuts.h"
#include "frontend/network/build_graph.h"
#include "ir/ops/registry.h"
#include "planner/cluster/presets.h"
#include "planner/cluster/toml.h"
#include "planner/pricing/search/job_of.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

constexpr const char* kPlan =
    "partita training plan 1\n"
    "model mlp:layers=4,hidden=24\n"
    "batch 24\n"
    "dtype f64\n"
    "cluster cpu\n"
    "ranks 8\n"
    "network 00000000000000ff nodes=9 parameters=1234\n"
    "configuration data=2,tensor=2,pipeline=2,micro_batch=3\n"
    "parallel auto\n"
    "stage 0 net/fc1 net/relu\n"
    "stage 1 net/fc2..4 loss\n"
    "mesh data=2 tensor=2\n"
    "others exact\n"
    "input %image [24,1,28,28] {data} {} {} {}\n"
    "node net/fc1/matmul A={data} j={tensor}\n"
    "node net/relu\n"
    "predicted step_seconds 0.0125\n"
    "predicted memory_bytes 1000 2000\n"
    "end\n";

std::string refusal_of_plan(const std::string& text) {
  return refusal_of([&] { parse_plan_file(text, "p.txt"); });
}

/// The message with which the text is refused after `from` is replaced.
std::string refused_with(const std::string& from, const std::string& to) {
  std::string text = kPlan;
  text.replace(text.find(from), from.size(), to);
  return refusal_of_plan(text);
}

TEST(PlanFile, IsPrintedAsItWasRead) {
  const PlanFile plan = parse_plan_file(kPlan, "p.txt");
  EXPECT_EQ(print(plan), kPlan);
  EXPECT_EQ(plan.configuration.tensor, 2);
  EXPECT_EQ(plan.stages[1], (std::vector<std::string>{"net/fc2..4", "loss"}));
  EXPECT_EQ(plan.cuts->others, Search::exact);
  EXPECT_EQ(plan.cuts->lines[1].line, 15);
  EXPECT_EQ(plan.network->digest, 255U);
  EXPECT_EQ(plan.predicted->memory_bytes, (std::vector<double>{1000, 2000}));
  const PlanFile least =
      parse_plan_file("partita training plan 1\n\n# by hand\nranks 2\n batch 4 \nconfiguration data=2\nend\n", "p.txt");
  EXPECT_EQ(print(least),
            "partita training plan 1\nbatch 4\ndtype f32\nranks 2\nconfiguration data=2,micro_batch=2\n"
            "parallel data\nend\n");
}

TEST(PlanFile, RefusesWithTheLine) {
  EXPECT_EQ(refusal_of_plan("partita plan 1\n"),
            "[p.txt:1] not a training plan of this version, got 'partita plan 1', expected 'partita training plan 1'");
  EXPECT_EQ(refusal_of_plan(""),
            "[p.txt:1] not a training plan of this version, got '', expected 'partita training plan 1'");
  EXPECT_EQ(refused_with("batch 24", "batches 24").substr(0, 42), "[p.txt:3] unknown line, got 'batches', exp");
  EXPECT_NE(refused_with("batch 24", "batches 24").find("did you mean 'batch'?"), std::string::npos);
  EXPECT_EQ(refused_with("batch 24", "batch 0"), "[p.txt:3] bad number, got '0', expected 1 to 1099511627776");
  EXPECT_EQ(refused_with("batch 24", "batch 24\nbatch 24"), "[p.txt:4] given twice, got 'batch', expected it once");
  EXPECT_EQ(refused_with("dtype f64", "dtype f63"),
            "[p.txt:4] unknown type, got 'f63', expected f32, f64, bf16 or f16");
  EXPECT_EQ(refused_with("dtype f64", "dtype i32"),
            "[p.txt:4] unknown type, got 'i32', expected f32, f64, bf16 or f16");
  EXPECT_EQ(refused_with("ranks 8", "ranks -8"), "[p.txt:6] bad number, got '-8', expected 1 to 1048576");
  EXPECT_EQ(refused_with("ranks 8", "ranks 4"),
            "[p.txt:8] wrong number of ranks, got data 2 x context 1 x tensor 2 x pipeline 2 = 8, expected 4");
  EXPECT_EQ(refused_with("00000000000000ff", "0xff"),
            "[p.txt:7] not a fingerprint, got '0xff', expected 16 hexadecimal digits");
  EXPECT_EQ(refused_with("data=2,tensor=2,p", "data=2,tenser=2,p"),
            "[p.txt:8] unknown name, got 'tenser', expected one of data context tensor cuts squeeze links pipeline "
            "sequence_parallel interleave deal micro_batch order recompute zero, did you mean 'tensor'?");
  EXPECT_EQ(refused_with("micro_batch=3", "micro_batch=5"),
            "[p.txt:8] the rows of a rank do not divide into micro-batches, got 12 rows for micro_batch=5, expected "
            "micro_batch=4 or 6");
  EXPECT_EQ(refused_with("parallel auto", "parallel maybe").substr(0, 47),
            "[p.txt:9] [parallel] unknown name, got 'maybe',");
  EXPECT_EQ(refused_with("stage 1", "stage 2"), "[p.txt:11] another stage, got '2', expected stage 1");
  EXPECT_EQ(refused_with("stage 1 net/fc2..4 loss", "stage 1"),
            "[p.txt:11] a stage without layers, got '', expected the beginnings of the paths of its layers");
  EXPECT_EQ(refused_with("stage 1 net/fc2..4 loss\n", ""),
            "[p.txt:10] another number of stages, got 1, expected 2: pipeline times interleave of the configuration, "
            "or no line 'stage'");
  EXPECT_EQ(refused_with("mesh data=2 tensor=2", "mesh data=2"),
            "[p.txt:12] the mesh has another number of ranks, got 2, expected 4: 8 ranks in 2 groups of stages");
  EXPECT_EQ(refused_with("mesh data=2 tensor=2\n", ""),
            "[p.txt:13] cuts without a mesh, got no line 'mesh', expected the axes of 4 ranks");
  EXPECT_EQ(refused_with("mesh data=2 tensor=2", "mesh data=two"),
            "[p.txt:12] [mesh] bad number, got 'two', expected 1 to 1048576");
  EXPECT_EQ(refused_with("others exact", "others best").substr(0, 41), "[p.txt:13] [others] unknown name, got 'be");
  EXPECT_EQ(refused_with("node net/relu", "node"), "[p.txt:16] nothing is named, got '', expected a name");
  EXPECT_EQ(refused_with("step_seconds 0.0125", "step_seconds -1"),
            "[p.txt:17] bad number, got '-1', expected a number of 0 or more");
  EXPECT_EQ(refused_with("step_seconds", "seconds"),
            "[p.txt:17] unknown prediction, got 'seconds', expected step_seconds or memory_bytes");
  EXPECT_EQ(refused_with("end\n", ""), "[p.txt:18] the text ends too early, got '', expected 'end' as the last line");
  EXPECT_EQ(refused_with("end\n", "end\nnode x"),
            "[p.txt:20] a line after the end, got 'node x', expected no more lines");
  EXPECT_EQ(refused_with("ranks 8\n", ""), "[p.txt:18] no line 'ranks', got 'end', expected ranks ..");
}

TEST(PlanFile, NamesTheLayersThatAreRecomputed) {
  std::string text = kPlan;
  const auto replace = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("micro_batch=3", "micro_batch=3,recompute=full:1/0+selective:0/1");
  replace("mesh data=2", "recompute selective net/fc4\nrecompute full net/fc1 net/relu\nmesh data=2");
  const PlanFile plan = parse_plan_file(text, "p.txt");
  EXPECT_EQ(print(plan), text);
  EXPECT_EQ(plan.recomputed.at(Recompute::full), (std::vector<std::string>{"net/fc1", "net/relu"}));
  const JobConfig config = with_plan({}, plan);
  EXPECT_EQ(config.plan.recompute, Recompute::none);
  EXPECT_EQ(config.plan.recompute_layers,
            (std::vector<RecomputeAnnotation>{
                {"net/fc4", Recompute::selective}, {"net/fc1", Recompute::full}, {"net/relu", Recompute::full}}));
  EXPECT_EQ(refused_with("mesh data=2", "recompute full net/fc1\nmesh data=2"),
            "[p.txt:12] recomputed layers are named but not counted in the configuration, got recompute=none, expected "
            "numbers of layers, such as recompute=full:1, or no line 'recompute'");
  EXPECT_EQ(refused_with("micro_batch=3", "micro_batch=3,recompute=full:1"),
            "[p.txt:8] the plan does not name the recomputed layers, got recompute=full:1 and no line 'recompute', "
            "expected recompute full LAYERS..");
  EXPECT_EQ(refused_with("micro_batch=3", "micro_batch=3,recompute=full:1/2/3"),
            "[p.txt:8] recompute counts layers for the wrong number of groups of stages, got 3 numbers for pipeline=2, "
            "expected 1 or 2");
  EXPECT_EQ(refused_with("mesh data=2", "recompute some net/fc1\nmesh data=2"),
            "[p.txt:12] [recompute] unknown name, got 'some', expected one of none selective full");
  EXPECT_EQ(refused_with("mesh data=2", "recompute none net/fc1\nmesh data=2"),
            "[p.txt:12] nothing is recomputed, got 'none', expected selective or full");
  EXPECT_EQ(refused_with("mesh data=2", "recompute full\nmesh data=2"),
            "[p.txt:12] no layers are recomputed, got '', expected the beginnings of the paths of its layers");
  EXPECT_EQ(refused_with("mesh data=2", "recompute full a\nrecompute full b\nmesh data=2"),
            "[p.txt:13] given twice, got 'full', expected one line with all of its layers");
}

TEST(PlanFile, KeepsHowItWasPriced) {
  PlanFile plan = parse_plan_file(kPlan, "p.txt");
  EXPECT_TRUE(plan.tf32 && plan.reduce_dtype == ReduceDType::f32) << "as files without these lines are";
  plan.tf32 = false;
  plan.reduce_dtype = ReduceDType::bf16;
  const std::string text = print(plan);
  EXPECT_NE(text.find("\ntf32 false\nreduce_dtype bf16\n"), std::string::npos) << text;
  const PlanFile read = parse_plan_file(text, "p.txt");
  EXPECT_TRUE(!read.tf32 && read.reduce_dtype == ReduceDType::bf16);
  EXPECT_EQ(print(read), text);
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    try {
      parse_plan_file(other, "p.txt");
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string("read");
  };
  EXPECT_EQ(refused("tf32 false", "tf32 no"), "[p.txt:5] unknown switch, got 'no', expected true or false");
  EXPECT_NE(refused("dtype bf16", "dtype f16").find("[reduce_dtype] unknown name, got 'f16', expected one of f32 bf16"),
            std::string::npos);
}

TEST(PlanFile, WarnsOfAnotherType) {
  PlanFile plan = parse_plan_file(kPlan, "p.txt");
  EXPECT_EQ(dtype_warning(plan, {.dtype = DType::f64}), "");
  plan.dtype = DType::bf16;
  EXPECT_EQ(dtype_warning(plan, {.precision = MixedPrecision::bf16}), "");
  EXPECT_EQ(dtype_warning(plan, {.dtype = DType::bf16}), "");
  EXPECT_NE(dtype_warning(plan, {.precision = MixedPrecision::f16}), "");
  EXPECT_EQ(
      dtype_warning(plan, {}),
      "[p.txt:4] the plan is for another type than the training, got bf16, expected f32: it predicts other steps");
}

TEST(PlanFile, WarnsOfPricesOfOtherSoftware) {
  PlanFile plan = parse_plan_file(kPlan, "p.txt");
  EXPECT_EQ(software_warning(plan), "") << "a file without the line, of processors";
  const std::string advice = fmt::format(
      "got megatron-core, expected partita; for this library: partita plan {} --cluster h100:2@partita "
      "--batch {} --dtype {} --fixed {}",
      plan.model, plan.batch, name_of(plan.dtype), print(plan.configuration));
  plan.cluster = "h100:2";
  EXPECT_EQ(software_warning(plan), "[p.txt] the plan predicts the time and the memory of other software, " + advice)
      << "that of the preset";
  for (const std::string cluster : {"h100:2@partita", "no_such_preset", "h100:0", "mine.toml", ""}) {
    plan.cluster = cluster;
    EXPECT_EQ(software_warning(plan), "") << cluster;
  }
  std::string text = kPlan;
  text.replace(text.find("cluster cpu\n"), 12, "cluster h100:2@megatron-core\nsoftware megatron-core\n");
  plan = parse_plan_file(text, "p.txt");
  EXPECT_EQ(print(plan), text);
  EXPECT_EQ(software_warning(plan), "[p.txt:6] the plan predicts the time and the memory of other software, " + advice);
  plan.tf32 = false;
  plan.reduce_dtype = ReduceDType::bf16;
  EXPECT_TRUE(software_warning(plan).ends_with(" --tf32 false --reduce-dtype bf16")) << software_warning(plan);
  plan.cluster = "mine.toml";
  EXPECT_EQ(
      software_warning(plan),
      "[p.txt:6] the plan predicts the time and the memory of other software, got megatron-core, expected partita; "
      "for this library: plan with the software partita of the cluster");
  plan.software = "partita";
  EXPECT_EQ(software_warning(plan), "");
}

TEST(PlanFile, SaysThatCutsAreSearched) {
  const std::string text = "partita training plan 1\nranks 4\nbatch 8\nparallel auto\nconfiguration data=2,tensor=2";
  const PlanOptions blocks = with_plan({}, parse_plan_file(text + "\nend\n", "p.txt")).plan.options,
                    searched = with_plan({}, parse_plan_file(text + ",cuts=searched\nend\n", "p.txt")).plan.options;
  EXPECT_FALSE(blocks.blocks.searched);
  EXPECT_TRUE(searched.blocks.searched);
  EXPECT_EQ(searched.search, Search::exact);  // the search that prices use
}

/// Returns the text with up to three random changes: of a byte, a line, a moved piece or a number.
std::string mutated_text(std::string text, std::mt19937& random) {
  const auto below = [&](size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random); };
  const auto line_at = [&](size_t at) {
    const size_t begin = text.rfind('\n', at == 0 ? 0 : at - 1);
    const size_t first = begin == text.npos || at == 0 ? 0 : begin + 1;
    return std::pair(first, std::min(text.find('\n', at), text.size() - 1) + 1 - first);
  };
  constexpr std::string_view kLetters = " \n{}=.,0123456789-*%#/[]axz\"\t\xff";
  for (size_t changes = 1 + below(3); changes > 0 && text.size() > 2; --changes) {
    const size_t at = below(text.size());
    const auto [line, size] = line_at(at);
    switch (below(8)) {
      case 0: text[at] = kLetters[below(kLetters.size())]; break;
      case 1: text.erase(at, 1 + below(4)); break;
      case 2: text.insert(at, 1, kLetters[below(kLetters.size())]); break;
      case 3: text.erase(line, size); break;
      case 4: text.insert(below(text.size()), text.substr(line, size)); break;
      case 5: text.resize(at); break;
      case 6: text.insert(at, std::to_string(random())); break;
      default: text.insert(at, text.substr(below(text.size()), below(12))); break;
    }
  }
  return text;
}

/// Reads and prints a plan file, and applies it to a network; false if it is refused.
bool is_taken(const std::string& text, const Graph& graph) {
  try {
    const PlanFile plan = parse_plan_file(text, "p.txt");
    EXPECT_EQ(print(parse_plan_file(print(plan), "p.txt")), print(plan)) << text;
    Graph annotated = graph;
    if (plan.stages.size() > 1)
      annotate_stages(annotated, pipeline_of(plan.configuration, plan.stages).stage_annotations);
    if (plan.cuts && plan.cuts->mesh.ranks() <= 64) {
      const Plan made = plan_of(*plan.cuts, graph, all_ops());
      verify(made, graph, all_ops());
    }
    return true;
  } catch (const InternalError& error) {
    ADD_FAILURE() << error.what() << "\n" << text;
  } catch (const Error&) {
  }
  return false;
}

PlanFile plan_of_model(const std::string& model, const Configuration& configuration, int64_t batch, Graph& training) {
  const ZooModel zoo = make_model(model);
  const Graph forward =
      build_graph(zoo.network(zoo.recipe.training.loss), all_ops(), {.batch = batch, .columns = zoo.columns()});
  JobConfig job = zoo.recipe;
  job.model = model;
  job.training.batch = batch;
  job.plan.options.parallel = Parallel::automatic;
  job.plan.options.pipeline.stages = configuration.pipeline;
  training = make_training_graph(forward, all_ops(), {}).graph;
  PlanFile plan = plan_file_of({job, completed(configuration, configuration.ranks(), batch), training, all_ops()});
  plan.network = fingerprint_of_network(forward);
  return plan;
}

TEST(PlanFile, MutationsAreReadOrRefused) {
  std::mt19937 random(7);
  for (const auto& [model, configuration] :
       {std::pair("mlp:layers=3,hidden=16", Configuration{.data = 4}),
        std::pair("gpt:layers=4,hidden=16,heads=4,seq=8,vocab=16", Configuration{.data = 4, .pipeline = 2}),
        std::pair("moe:layers=2,hidden=8,heads=2,seq=6,vocab=12,experts=4", Configuration{.data = 2})}) {
    Graph training;
    const std::string text = print(plan_of_model(model, configuration, 8, training));
    EXPECT_TRUE(is_taken(text, training)) << text;
    int taken = 0;
    constexpr int kTexts = 1500;
    for (int i = 0; i < kTexts; ++i) taken += is_taken(mutated_text(text, random), training);
    EXPECT_GT(taken, kTexts / 50);
    EXPECT_LT(taken, kTexts * 9 / 10);
    for (size_t length = 0; length + 1 < text.size(); length += 1 + text.size() / 97) {
      EXPECT_FALSE(is_taken(text.substr(0, length), training)) << length;
    }
  }
}

TEST(ClusterFile, MutationsAreReadOrRefused) {
  std::mt19937 random(11);
  for (const char* name : {"cpu", "a100-80:4", "v100"}) {
    const std::string text = print(cluster_named(name));
    int taken = 0;
    constexpr int kTexts = 1500;
    for (int i = 0; i < kTexts; ++i) {
      const std::string changed = mutated_text(text, random);
      try {
        const Cluster cluster = parse_cluster(changed, "c.toml");
        EXPECT_EQ(print(parse_cluster(print(cluster), "c.toml")), print(cluster));
        ++taken;
      } catch (const InternalError& error) {
        ADD_FAILURE() << error.what() << "\n" << changed;
      } catch (const Error&) {
      }
    }
    EXPECT_GT(taken, kTexts / 100);
    EXPECT_LT(taken, kTexts * 9 / 10);
  }
}

}  // namespace
}  // namespace partita

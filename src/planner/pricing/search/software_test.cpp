#include "planner/cluster/software.h"

#include <gtest/gtest.h>

#include "calibrate/channel_block.h"
#include "compiler/compile.h"
#include "planner/pricing/search/test_pricing.h"
#include "runtime/device/cpu/onednn/engine.h"
#include "runtime/device/device.h"

namespace partita {
namespace {

Priced on_cluster(const std::string& model, int64_t batch, Cluster cluster) {
  return Priced(forward_of_model(model, batch), std::move(cluster));
}

Cluster with_software(const std::string& name, const std::function<void(SoftwareCosts&)>& change = nullptr,
                      const std::string& preset = "a100-80") {
  Cluster cluster = cluster_named(preset);
  use_software(cluster, name);
  if (change) change(cluster.software);
  return cluster;
}

constexpr const char* kSmall = "gpt:layers=6,hidden=512,heads=8,seq=128,vocab=2048";

TEST(Software, HostsAreHiddenByLongKernelsAlone) {
  const auto hosted = [](const std::string& model, double seconds) {
    Cluster cluster = with_software("partita", [&](SoftwareCosts& software) { software.host_overhead = seconds; });
    return on_cluster(model, 8, cluster).price("data=1,micro_batch=8").breakdown.waiting;
  };
  EXPECT_EQ(hosted(kSmall, 0), 0);
  EXPECT_EQ(hosted("gpt:layers=6,hidden=4096,heads=32,seq=2048,vocab=2048", 5e-6), 0);
  // Each kernel of a small network waits for the host, so twice the overhead takes twice the time.
  const double once = hosted(kSmall, 1e-2), twice = hosted(kSmall, 2e-2);
  EXPECT_GT(once, 1);
  EXPECT_NEAR(twice / once, 2, 0.01);
}

TEST(Software, MoreOfAnythingIsNotFaster) {
  const std::vector<std::function<void(SoftwareCosts&)>> changes = {
      [](SoftwareCosts& software) { software.step_overhead *= 2; },
      [](SoftwareCosts& software) { software.host_overhead *= 2; },
      [](SoftwareCosts& software) { software.rank_skew *= 5; },
      [](SoftwareCosts& software) { software.transfer_overhead *= 2; },
      [](SoftwareCosts& software) { software.product_overlap = 0; },
      [](SoftwareCosts& software) { software.prefetches_parameters = false; },
      [](SoftwareCosts& software) { software.reduces_after_backward = true; },
      [](SoftwareCosts& software) { software.recomputes_whole = true; },
      [](SoftwareCosts& software) { software.joins_products = false; },
      [](SoftwareCosts& software) { software.fused.clear(); },
      [](SoftwareCosts& software) { software.op_factor["gelu"] = 3; },
      [](SoftwareCosts& software) { software.scores.forward_bytes *= 2; },
      [](SoftwareCosts& software) { software.scores.backward_bytes *= 2; },
      [](SoftwareCosts& software) { software.scores.kernels = 20; },
      [](SoftwareCosts& software) { software.scores.split_kernels = 20; },
  };
  for (const std::string software : {"partita", "megatron-lm", "megatron-core"}) {
    for (const std::string text :
         {"data=4,tensor=2,micro_batch=1,recompute=full", "data=2,pipeline=2,tensor=2,micro_batch=2,zero=1",
          "data=2,tensor=4,micro_batch=2,sequence_parallel=true,recompute=selective,zero=1"}) {
      const double before = on_cluster(kSmall, 8, with_software(software)).price(text).step_seconds;
      for (size_t i = 0; i < changes.size(); ++i) {
        const double after = on_cluster(kSmall, 8, with_software(software, changes[i])).price(text).step_seconds;
        EXPECT_GE(after, before * (1 - 1e-12)) << software << " " << text << ", change " << i;
      }
    }
  }
}

/// Bytes that a layer of Megatron-LM keeps per row, in units of seq x hidden (Korthikanti et al., 2022, section 4).
TEST(Software, KeepsWhatMegatronKeeps) {
  constexpr double kSeq = 2048, kHidden = 6144, kHeads = 64, kTensor = 8;
  const auto kept = [](const std::string& text) {
    const auto activations = [&](int64_t layers) {
      const std::string model = fmt::format("gpt:layers={},hidden=6144,heads=64,seq=2048,vocab=51200", layers);
      return on_cluster(model, 2, with_software("megatron-lm")).price("tensor=8,micro_batch=2" + text).memory[0];
    };
    return (activations(12).activations - activations(8).activations) / 4 / 2 / (kSeq * kHidden);
  };
  const double scores = 5 * kHeads * kSeq / kHidden / kTensor;
  EXPECT_NEAR(kept(""), 10 + 24 / kTensor + scores, 0.01);
  EXPECT_NEAR(kept(",sequence_parallel=true"), 34 / kTensor + scores, 0.01);
  EXPECT_NEAR(kept(",sequence_parallel=true,recompute=selective"), 34 / kTensor, 0.01);
  EXPECT_NEAR(kept(",recompute=selective"), 10 + 24 / kTensor, 0.01);
  EXPECT_NEAR(kept(",recompute=full"), 2, 0.01);
}

// The figure of Korthikanti et al. counts 18 bytes per parameter, of the transformer layers only.
TEST(Software, LayersThatAreNotRepeatedAreEmbeddingsAndHeads) {
  constexpr double kHidden = 1024, kVocab = 51200, kSeq = 512, kTensor = 2, kBytes = 18;
  for (const int64_t stages : {1, 2, 4}) {
    const auto memory = [&](int64_t layers) {
      const std::string model = fmt::format("gpt:layers={},hidden=1024,heads=16,seq=512,vocab=51200", layers);
      return on_cluster(model, 8, with_software("megatron-lm"))
          .price(fmt::format("tensor=2,pipeline={},micro_batch=1", stages));
    };
    const auto states = [](const StageMemory& one) { return one.parameters + one.gradients + one.optimizer; };
    const Price eight = memory(8), sixteen = memory(16);
    ASSERT_EQ(std::ssize(eight.single_layers), stages);
    const StageMemory &first = eight.single_layers.front(), &last = eight.single_layers.back();
    const double words = kBytes * kVocab * kHidden / kTensor, positions = kBytes * kSeq * kHidden,
                 norm = kBytes * 2 * kHidden;
    EXPECT_NEAR(states(first), words + positions + (stages == 1 ? norm : 0), 1);
    // On another stage the head has a copy of the word embedding, without optimizer states.
    if (stages > 1) {
      EXPECT_NEAR(states(last), words / kBytes * 6 + norm, 1);
    }
    for (int64_t group = 1; group + 1 < stages; ++group) EXPECT_EQ(eight.single_layers[group].total(), 0);
    for (int64_t group = 0; group < stages; ++group) {  // the rest is proportional to the layers
      const double few = states(eight.memory[group]) - states(eight.single_layers[group]),
                   many = states(sixteen.memory[group]) - states(sixteen.single_layers[group]);
      EXPECT_NEAR(many / few, 2, 1e-6);
      EXPECT_LE(eight.single_layers[group].activations, eight.memory[group].activations);
    }
  }
}

TEST(Software, RecomputesWholeLayers) {
  const auto compute = [](const std::string& software, const std::string& recompute) {
    const auto of_layers = [&](int layers) {
      const std::string model = fmt::format("gpt:layers={},hidden=2048,heads=16,seq=2048,vocab=2048", layers);
      return on_cluster(model, 4, with_software(software)).price("data=1,micro_batch=4,recompute=" + recompute);
    };
    return of_layers(12).breakdown.compute - of_layers(8).breakdown.compute;
  };
  // A backward pass takes about twice as long as a forward pass, so one more of these makes four thirds.
  const double none = compute("megatron-lm", "none"), full = compute("megatron-lm", "full");
  EXPECT_NEAR(full / none, 4.0 / 3, 0.03);
  EXPECT_LT(compute("partita", "full") / compute("partita", "none"), 1.28);  // does not recompute the last product
  EXPECT_LT(none, compute("megatron-lm", "selective"));
  EXPECT_LT(compute("megatron-lm", "selective"), full);
}

TEST(Software, ScoresInMemoryTakeTime) {
  const std::string model = "gpt:layers=6,hidden=1024,heads=16,seq=2048,vocab=2048";
  const double fused = on_cluster(model, 8, with_software("megatron-core")).price("data=8").breakdown.compute;
  const double stored = on_cluster(model, 8, with_software("megatron-lm")).price("data=8").breakdown.compute;
  // 6 layers x 16 heads x 2048^2 scores x (13 + 19) bytes at 85 % of 2039 GB/s.
  EXPECT_NEAR(stored - fused, 6 * 16 * 2048.0 * 2048 * 32 / (0.85 * 2039e9), 0.001);
}

struct ArenaCase {
  const char* model;
  int64_t batch, micro_batches;
  double near;
};
constexpr ArenaCase kArenas[] = {
    {"resnet18:size=32", 32, 1, 0.05},
    {"resnet50:size=32", 8, 1, 0.2},  // how many formats oneDNN reorders depends on the processor
    {"mlp:layers=6,hidden=512", 64, 1, 0.05},
    {"mlp:layers=6,hidden=512", 64, 4, 0.05},
    {kSmall, 8, 1, 0.05},
    {kSmall, 8, 4, 0.05},
    {"lenet", 32, 1, 0.2},
};

/// The estimates of a search, without the scratch of kernels, match the arena. Gradients of a single micro-batch are
/// made while its activations are released; those of several are accumulated. Channels lie in blocks.
TEST(Software, MemoryIsThatOfTheArena) {
  for (const ArenaCase& of : kArenas) {
    const ZooModel zoo = make_model(of.model);
    const auto forward = [&](int64_t groups) {
      return build_graph(zoo.network(zoo.recipe.training.loss), all_ops(),
                         {.batch = of.batch, .columns = zoo.columns(), .statistics_groups = groups});
    };
    const auto device = make_cpu_device(all_ops(), 1);
    CompileOptions options{.training = TrainingOptions{.optimizer = zoo.recipe.optimizer}};
    options.plan.micro_batches = of.micro_batches;
    const Program program = compile(forward(of.micro_batches), all_ops(), device->catalog(), options);
    Cluster cluster = cluster_named("cpu");
    cluster.software.channel_block = channel_block(device->catalog());
    const Graph graph = forward(of.batch);
    NetworkCosts costs(graph, all_ops(), cluster, NetworkOptions{.training = *options.training});
    const Price price =
        costs.price(parse_configuration(fmt::format("data=1,micro_batch={}", of.batch / of.micro_batches)));
    const auto arena = static_cast<double>(program.schedule().arena_bytes);
    EXPECT_NEAR(price.peak_memory() / arena, 1, of.near) << of.model << " in " << of.micro_batches;
  }
}

TEST(Software, ChannelBlocksAreThoseOfTheKernels) {
  const auto device = make_cpu_device(all_ops(), 1);
  constexpr auto kHas16 = static_cast<unsigned>(dnnl::cpu_isa::avx512_core),
                 kHas8 = static_cast<unsigned>(dnnl::cpu_isa::avx2);
  const auto has = [](unsigned isa) { return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & isa) == isa; };
  if (!has(kHas8)) GTEST_SKIP() << "oneDNN finds no AVX2 here, or is told to do without";
  EXPECT_EQ(channel_block(device->catalog()), has(kHas16) ? 16 : 8);
}

TEST(Software, NamesAreKnown) {
  for (const std::string& name : software_names()) {
    const Cluster cluster = cluster_named("h100:2@" + name);
    EXPECT_EQ(cluster.software.name, name);
    EXPECT_EQ(cluster.name, "h100:2");
    EXPECT_EQ(cluster.software.algorithms, cluster_named("h100:2").software.algorithms);
  }
  EXPECT_EQ(cluster_named("a100-80").software.name, "megatron-lm");
  EXPECT_EQ(cluster_named("cpu").software.name, "partita");
  try {
    cluster_named("a100-80:4@megatron-cor");
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(),
                 "[cluster] unknown software, got 'megatron-cor', expected one of partita megatron-lm megatron-core, "
                 "did you mean 'megatron-core'?");
  }
}

}  // namespace
}  // namespace partita

#include "planner/pricing/search/price_notes.h"

#include <gtest/gtest.h>

#include "planner/pricing/search/test_pricing.h"

namespace partita {
namespace {

using Notes = std::vector<std::string>;

/// The notes on a step of 100 ms that waits 5 ms for the host.
Notes notes_of(const Cluster& cluster, DType dtype, const std::string& configuration, double waiting = 5e-3,
               double attention = 0) {
  return price_notes({.cluster = cluster, .precision = Precision::of(dtype), .attention = attention},
                     parse_configuration(configuration), {.step_seconds = 0.1, .breakdown = {.waiting = waiting}});
}

TEST(PriceNotes, SayThatF32IsTf32) {
  const Notes tf32{
      "products of f32 are priced in TF32, which keeps 10 bits of each factor, at up to 156 Tflop/s of a "
      "A100-SXM4-80GB; with --tf32 false in f32, at up to 19.5"};
  EXPECT_EQ(notes_of(cluster_named("a100-80"), DType::f32, "data=8"), tf32);
  for (const char* name : {"a100-40", "a100-80", "h100", "h200", "b200"}) {
    const Cluster cluster = cluster_named(name), whole = without_tf32(cluster);
    EXPECT_EQ(notes_of(cluster, DType::f32, "data=8").size(), 1U) << name;
    EXPECT_EQ(notes_of(cluster, DType::bf16, "data=8"), Notes()) << name;
    EXPECT_EQ(notes_of(whole, DType::f32, "data=8"), Notes()) << name;
    EXPECT_LT(whole.device.peak.at(DType::f32), 0.2 * cluster.device.peak.at(DType::f32)) << name;
  }
  for (const char* name : {"v100", "cpu"}) {
    EXPECT_EQ(notes_of(cluster_named(name), DType::f32, "data=8"), Notes()) << name;
    EXPECT_EQ(without_tf32(cluster_named(name)), cluster_named(name));
  }
}

TEST(PriceNotes, SayThatTheHostDecides) {
  Cluster cluster = cluster_named("a100-80");
  EXPECT_EQ(notes_of(cluster, DType::bf16, "data=8", 39e-3),
            Notes{"39 % of a step the devices wait for their hosts, which take 56.5 us to issue a kernel in "
                  "megatron-lm: more or faster devices do not shorten that"});
  cluster.software.step_overhead = 0.02;
  EXPECT_EQ(notes_of(cluster, DType::bf16, "data=8"),
            Notes{"20 % of a step is the fixed overhead of megatron-lm: 20.000 ms"});
  // A real price: a small network on many devices.
  const Priced priced(forward_of_model("resnet18:size=32", 64), "a100-80");
  const Configuration configuration = parse_configuration("data=8,micro_batch=8");
  const Notes notes = price_notes({.cluster = priced.cluster,
                                   .precision = Precision::of(DType::bf16),
                                   .attention = priced.costs->lowering().attention_share()},
                                  configuration, priced.costs->price(configuration));
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("wait for their hosts"), std::string::npos) << notes[0];
}

const char* const kUnmeasured = "no step of partita has been measured on ";

TEST(PriceNotes, SayThatNoStepOfThisLibraryWasMeasured) {
  for (const char* name : {"h100@partita", "v5e"}) {
    const Cluster cluster = cluster_named(name);
    EXPECT_EQ(notes_of(cluster, DType::bf16, "data=2"),
              Notes{fmt::format("{}{}: it may take several times as long, since waits between programs have no price",
                                kUnmeasured, cluster.device.name)});
  }
  for (const char* name : {"h100", "cpu", "v100"})
    EXPECT_EQ(notes_of(cluster_named(name), DType::bf16, "data=2"), Notes()) << name;
}

TEST(PriceNotes, SayWhatTheSoftwareLacks) {
  const auto of = [](const std::string& cluster, const std::string& configuration, double attention) {
    Notes notes = notes_of(cluster_named(cluster), DType::bf16, configuration, 5e-3, attention);
    std::erase_if(notes, [](const std::string& note) { return note.starts_with(kUnmeasured); });
    return notes;
  };
  for (const char* name : {"a100-80@partita", "v5e", "cpu"}) EXPECT_EQ(of(name, "data=8,zero=3", 0.2), Notes()) << name;
  EXPECT_EQ(of("a100-80", "data=8,zero=1", 0.1), Notes());
  EXPECT_EQ(of("h100", "data=8,zero=1", 0.2), Notes());
  EXPECT_EQ(of("a100-80", "data=8,zero=3", 0),
            Notes{"megatron-lm has no level 3 of optimizer sharding, and is priced as if it had: @partita after the "
                  "cluster's name prices a program that has it"});
  EXPECT_EQ(of("h100", "data=8,zero=2", 0).size(), 1U);
  const Cluster own_file = cluster_named("a100-80");
  EXPECT_EQ(price_notes({.cluster = own_file, .precision = Precision::of(DType::bf16), .is_preset = false},
                        parse_configuration("data=8,zero=3"), {.step_seconds = 0.1}),
            Notes{"megatron-lm has no level 3 of optimizer sharding, and is priced as if it had: the cluster's file "
                  "without [software] prices a program that has it"});
  EXPECT_EQ(of("a100-80", "data=8", 0.23),
            Notes{"23 % of the operations are attention, whose scores megatron-lm keeps in memory: @partita after the "
                  "cluster's name is nearer to software that fuses its attention"});
  const Notes masked{
      "31 % of the operations are attention, and all scores count: kernels that skip those under a causal mask take up "
      "to half of these less"};
  for (const char* name : {"h100", "a100-80@partita", "v5p"}) EXPECT_EQ(of(name, "data=4", 0.31), masked) << name;
}

// 4 S of 4 S + 24 H operations per layer and position, and the product before the loss.
TEST(PriceNotes, KnowTheShareOfAttention) {
  const auto share = [](const std::string& model) {
    return Priced(forward_of_model(model, 8), "a100-80").costs->lowering().attention_share();
  };
  EXPECT_NEAR(share("gpt:layers=12,hidden=512,heads=8,seq=1024,vocab=512"), 4096.0 / (4096 + 24 * 512 + 2 * 512 / 12.0),
              0.01);
  EXPECT_LT(share("gpt:layers=96,hidden=12288,heads=96,seq=2048"), 0.03);
  EXPECT_EQ(share("resnet18:size=32"), 0);
}

TEST(PriceNotes, SayThatGroupsLeaveTheirNodes) {
  const Cluster cluster = cluster_named("h100:4");
  for (const char* within : {"data=32", "tensor=8,data=4", "tensor=2,context=4,data=4", "tensor=3,data=2", "tensor=6"})
    EXPECT_EQ(notes_of(cluster, DType::bf16, within), Notes()) << within;
  const auto text = [](const std::string& which) {
    return Notes{fmt::format(
        "groups of {} span several nodes of 8 ranks: what they send for every layer goes over the node links", which)};
  };
  EXPECT_EQ(notes_of(cluster, DType::bf16, "tensor=16,data=2"), text("tensor=16"));
  EXPECT_EQ(notes_of(cluster, DType::bf16, "tensor=3,data=4"), text("tensor=3"));
  EXPECT_EQ(notes_of(cluster, DType::bf16, "context=16"), text("context=16"));
  EXPECT_EQ(notes_of(cluster, DType::bf16, "context=2,tensor=8"), text("context=2 x tensor=8"));
}

}  // namespace
}  // namespace partita

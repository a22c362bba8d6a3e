// Parameter counts of published models.

#include <gtest/gtest.h>

#include <cmath>

#include "frontend/network/build_graph.h"
#include "ir/ops/registry.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

/// Returns the number of parameters of a model. Nothing is allocated.
double parameters_of(const std::string& spec) {
  const ZooModel model = make_model(spec);
  const Graph graph = build_graph(model.network(Loss::sparse), all_ops(), {.batch = 1, .columns = model.columns()});
  double count = 0;
  for (const State& state : graph.states) {
    if (state.kind == StateKind::parameter) count += static_cast<double>(graph.type(state.entry).elements());
  }
  return count;
}

struct PublishedCount {
  std::string spec;
  double count, tolerance = 0.02;  // tolerance: relative, since published counts are rounded
};

void expect_counts(const std::vector<PublishedCount>& list) {
  for (const auto& [spec, count, tolerance] : list) {
    EXPECT_NEAR(parameters_of(spec) / count, 1, tolerance) << spec << ": " << parameters_of(spec);
  }
}

TEST(PublishedSizes, Gpt3) {
  expect_counts({{"gpt:125m", 125e6},
                 {"gpt:350m", 350e6},
                 {"gpt:760m", 760e6},
                 {"gpt:1.3b", 1.3e9},
                 {"gpt:2.7b", 2.7e9},
                 {"gpt:6.7b", 6.7e9},
                 {"gpt:13b", 13e9},
                 {"gpt:175b", 175e9, 0.01}});
}

TEST(PublishedSizes, MegatronGpt) {
  expect_counts({{"gpt:1.7b", 1.65e9},  // printed as 1.7
                 {"gpt:3.6b", 3.6e9},
                 {"gpt:7.5b", 7.5e9},
                 {"gpt:18.4b", 18.4e9, 0.01},
                 {"gpt:22b", 22e9},
                 {"gpt:39.1b", 39.1e9, 0.01},
                 {"gpt:76.1b", 76.1e9, 0.01},
                 {"gpt:145.6b", 145.6e9, 0.01},
                 {"gpt:310.1b", 310.1e9, 0.01},
                 {"gpt:530b", 529.6e9, 0.01},
                 {"gpt:1t", 1008e9, 0.01}});
}

TEST(PublishedSizes, Llama3) {
  expect_counts({{"llama:1b", 1.236e9, 0.001},
                 {"llama:3b", 3.213e9, 0.001},
                 {"llama:8b", 8.030e9, 0.001},
                 {"llama:70b", 70.554e9, 0.001},
                 {"llama:405b", 405.85e9, 0.001}});
}

TEST(PublishedSizes, Bert) { expect_counts({{"bert:base", 110e6}, {"bert:large", 340e6}}); }

TEST(PublishedSizes, T5) {
  expect_counts({{"t5:small", 60.5e6, 0.001},
                 {"t5:base", 222.9e6, 0.001},
                 {"t5:large", 737.7e6, 0.001},
                 {"t5:3b", 2.852e9, 0.001},
                 {"t5:11b", 11.307e9, 0.001}});
}

TEST(PublishedSizes, Vit) {
  expect_counts({{"vit:tiny", 5.7e6, 0.005},
                 {"vit:small", 22.05e6, 0.001},
                 {"vit:base", 86.57e6, 0.001},
                 {"vit:large", 304.33e6, 0.001},
                 {"vit:huge", 632.05e6, 0.001},
                 {"vit:giant", 1.012e9, 0.001}});
}

TEST(PublishedSizes, ResidualNetworks) {
  expect_counts({{"resnet50:classes=1000,size=224", 25.557e6, 0.0001},
                 {"resnet101:classes=1000,size=224", 44.549e6, 0.0001},
                 {"resnet152:classes=1000,size=224", 60.193e6, 0.0001}});
}

TEST(PublishedSizes, WideResidualNetworksOfAlpa) {
  expect_counts({{"wide_resnet:250m", 250e6},
                 {"wide_resnet:500m", 500e6},
                 {"wide_resnet:1b", 1e9},
                 {"wide_resnet:2b", 2e9},
                 {"wide_resnet:4b", 4e9},
                 {"wide_resnet:6.8b", 6.8e9},
                 {"wide_resnet:13b", 13e9, 0.03}});
}

TEST(PublishedSizes, Inception) { expect_counts({{"inception:v3", 23.835e6, 0.0001}}); }

TEST(PublishedSizes, MixturesOfExpertsOfAlpa) {
  expect_counts({{"moe:380m", 380e6},
                 {"moe:690m", 690e6},
                 {"moe:1.3b", 1.35e9},  // printed as 1.3
                 {"moe:2.4b", 2.4e9},
                 {"moe:10b", 10e9},
                 {"moe:27b", 27e9},
                 {"moe:70b", 70e9},
                 {"moe:140b", 140e9}});
}

TEST(PublishedSizes, CanBeChangedOneByOne) {
  EXPECT_EQ(parameters_of("gpt:125m,layers=1,vocab=100,seq=16"),
            parameters_of("gpt:layers=1,hidden=768,heads=12,vocab=100,seq=16"));
  EXPECT_EQ(make_model("llama:8b,seq=64").columns().at(0).type.shape, Shape{64});
}

void expect_refused(const std::string& spec, const std::vector<std::string>& parts) {
  try {
    make_model(spec);
    FAIL() << spec;
  } catch (const InvalidArgument& error) {
    for (const std::string& part : parts) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
}

TEST(PublishedSizes, UnknownOnesNameTheNearest) {
  expect_refused("gpt:17b",
                 {"[gpt] unknown size, got '17b', expected name=value or one of [125m, ", "did you mean '1"});
  expect_refused("bert:Large", {"did you mean 'large'?"});
  expect_refused("mlp:8b", {"[mlp] the model has no published sizes, got '8b', expected name=value"});
  expect_refused("wide_resnet:layers=60", {"[wide_resnet] unknown depth, got 60 layers, expected 50, 101 or 152"});
  expect_refused("vit:size=32,patch=5", {"[vit] patches do not divide the image, got 5 of 32, expected a divisor"});
  expect_refused("gpt:layers=2,125m", {"[model] bad option, got '125m'"});
  expect_refused("gpt:", {"[model] bad option, got '' in 'gpt:'"});
}

}  // namespace
}  // namespace partita

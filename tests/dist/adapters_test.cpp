// Additions to products (LoRA): only they are trained and saved, on any number of ranks, and merged weights compute the
// same logits.

#include "frontend/network/adapters.h"

#include <gtest/gtest.h>

#include <cstring>

#include "frontend/data/readers/memory_rows.h"
#include "runtime/checkpoint/weights.h"
#include "support/token_trainings.h"
#include "training/model.h"
#include "zoo/merged_adapters.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

constexpr int64_t kAdapterRows = 24;
constexpr const char* kBase = "llama:layers=2,hidden=16,heads=4,kv_heads=2,seq=6,vocab=20,bias=1";

DatasetPtr token_rows(uint64_t seed) {
  const Shape shape{kAdapterRows, 6};
  return memory_rows(
      {{"tokens", random_ids(seed, "tokens", shape, 20)}, {"label", random_ids(seed, "label", shape, 20)}});
}

JobConfig adapter_config(const std::string& spec, int ranks = 1, const PlanOptions& plan = {}) {
  JobConfig config = configured(spec, {});
  config.training.batch = kAdapterRows;
  config.training.dtype = DType::f64;
  config.schedule = {.kind = LrKind::constant, .learning_rate = 0.02};
  config.ranks = {.count = ranks, .threads = 1};
  config.plan.options = plan;
  config.console.quiet = true;
  return config;
}

/// Returns the states after five steps, and sets the losses.
States trained(const JobConfig& config, std::vector<double>& losses) {
  RecordedLosses recorded(losses);
  Model model(config, Place{.cores = 8});
  FitOptions fit{.epochs = 5, .keeps_states = true};
  fit.callbacks = {&recorded};
  model.train(token_rows(3), fit);
  return model.states();
}

const std::string kAdaptedSpec = std::string(kBase) + ",lora=3,lora_alpha=5,lora_layers=q+v+h.1.mlp.*";

TEST(Adapters, AloneAreTrained) {
  std::vector<double> losses;
  const States after = trained(adapter_config(kAdaptedSpec), losses);
  JobConfig untrained = adapter_config(kAdaptedSpec);
  untrained.schedule.learning_rate = 0;
  std::vector<double> same;
  const States before = trained(untrained, same);
  int64_t adapters = 0;
  for (const auto& [name, value] : before) {
    if (name == "step") continue;
    const bool is_equal =
        std::memcmp(value.data(), after.at(name).data(), static_cast<size_t>(value.type().bytes())) == 0;
    const bool is_own = name.find(kAdapterIn) != std::string::npos || name.find(kAdapterOut) != std::string::npos;
    if (is_own) {
      ++adapters;
    } else {
      EXPECT_TRUE(is_equal) << name << " was trained, or has states of an optimizer";
    }
    if (is_adapter(name)) {
      EXPECT_FALSE(is_equal) << name;
    }
  }
  // q and v of both layers, gate, up and proj of the second: two matrices, each with two moments.
  EXPECT_EQ(adapters, (4 + 3) * 2 * 3);
  EXPECT_LT(losses.back(), losses.front());
}

TEST(Adapters, TrainAlikeOnAnyNumberOfRanks) {
  std::vector<double> expected;
  trained(adapter_config(kAdaptedSpec), expected);
  const std::vector<std::pair<int, PlanOptions>> plans{
      {2, {}},
      {3, {}},
      {4, {.parallel = Parallel::automatic, .blocks = {.tensor = 2}}},
      {4, {.parallel = Parallel::semi, .micro_batches = 2, .pipeline = {.stages = 2}}},
      {6, {.parallel = Parallel::automatic, .blocks = {.tensor = 2, .sequence = true}}},
      {8, {.parallel = Parallel::automatic, .blocks = {.tensor = 4}}}};
  for (const auto& [ranks, plan] : plans) {
    std::vector<double> losses;
    trained(adapter_config(kAdaptedSpec, ranks, plan), losses);
    ASSERT_EQ(losses.size(), expected.size());
    for (size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], expected[i], 1e-9) << ranks << " ranks";
  }
}

TEST(Adapters, HaveAveragesWhenTheyAreNew) {
  const std::string base = testing::TempDir() + "/averaged.safetensors";
  Model model(adapter_config(kBase), Place{.cores = 8});
  model.train(token_rows(5), {.epochs = 1, .keeps_states = true});
  model.save(base);
  std::vector<double> expected;
  for (const int ranks : {1, 2, 3}) {
    JobConfig config = adapter_config(kAdaptedSpec, ranks);
    config.files.load = base;
    config.optimizer.ema = 0.5;
    std::vector<double> losses;
    EXPECT_FALSE(trained(config, losses).empty());
    if (ranks == 1) expected = losses;
    ASSERT_EQ(losses.size(), 5u);
    for (size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], expected[i], 1e-9) << ranks << " ranks";
  }
}

TEST(Adapters, AreSavedAloneAndMergeIntoTheWeights) {
  const std::string base = testing::TempDir() + "/base.safetensors", own = testing::TempDir() + "/own.safetensors",
                    whole = testing::TempDir() + "/whole.safetensors";
  std::vector<double> losses;
  {
    Model model(adapter_config(kBase), Place{.cores = 8});
    model.train(token_rows(5), {.epochs = 2, .keeps_states = true});
    model.save(base);
  }
  JobConfig config = adapter_config(kAdaptedSpec);
  config.files.load = base;
  Model tuned(config, Place{.cores = 8});
  tuned.train(token_rows(3), {.epochs = 5, .keeps_states = true});
  tuned.save(own);
  const std::map<std::string, Array> adapters = load_weights(own);
  std::vector<std::string> names;
  for (const auto& [name, array] : adapters) {
    EXPECT_TRUE(is_adapter(name)) << name;
    names.push_back(name);
  }
  EXPECT_EQ(names.size(), static_cast<size_t>((4 + 3) * 2));

  const std::map<std::string, Array> weights = load_weights(base);
  const ReadTensor merge = merged(
      make_model(kAdaptedSpec), names, [&](const std::string& name) { return adapters.at(name); },
      [&](const std::string& name) { return weights.at(name); });
  std::vector<std::pair<std::string, Array>> all;
  for (const auto& [name, array] : weights) all.emplace_back(name, merge(name));
  save_weights(whole, all);

  Array tokens(Type{DType::i32, {4, 6}});
  for (int64_t i = 0; i < 24; ++i) tokens.set(i, static_cast<double>(i * 7 % 20));
  const Array expected = tuned.predict(tokens);
  Model plain(adapter_config(without_adapters(kAdaptedSpec)), Place{.cores = 8});
  plain.load(whole);
  config.files.adapters = own;
  Model loaded(config, Place{.cores = 8});
  const Array from_merged = plain.predict(tokens), from_loaded = loaded.predict(tokens);
  Model bare(adapter_config(kBase), Place{.cores = 8});
  bare.load(base);
  const Array from_base = bare.predict(tokens);
  double difference = 0;
  for (int64_t i = 0; i < expected.type().elements(); ++i) {
    EXPECT_NEAR(from_merged.at(i), expected.at(i), 1e-12);
    EXPECT_EQ(from_loaded.at(i), expected.at(i));
    difference = std::max(difference, std::abs(from_base.at(i) - expected.at(i)));
  }
  EXPECT_GT(difference, 1e-3) << "the additions do nothing";
}

TEST(Adapters, RefuseWhatDoesNotFit) {
  const auto refused = [](const std::string& spec) -> std::string {
    try {
      ZooJob(adapter_config(spec), Place{.cores = 8}).program(Purpose::training, Stage::graph);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  const std::string base = kBase;
  EXPECT_NE(refused(base + ",lora=2,lora_layers=q+query").find("[lora] a pattern names nothing, got 'query'"),
            std::string::npos);
  EXPECT_NE(refused(base + ",frozen=h.7.*").find("[lora] a pattern names nothing, got 'h.7.*'"), std::string::npos);
  EXPECT_EQ(refused(base + ",frozen=h.0.*+wte.*"), "");
}

TEST(Adapters, FrozenParametersStay) {
  std::vector<double> losses, same;
  const std::string spec = std::string(kBase) + ",frozen=h.0.*+wte.weight";
  const States after = trained(adapter_config(spec), losses);
  JobConfig untrained = adapter_config(spec);
  untrained.schedule.learning_rate = 0;
  const States before = trained(untrained, same);
  for (const auto& [name, value] : before) {
    if (!name.starts_with("h.") && name != "wte.weight") continue;
    const bool is_equal =
        std::memcmp(value.data(), after.at(name).data(), static_cast<size_t>(value.type().bytes())) == 0;
    EXPECT_EQ(is_equal, name.starts_with("h.0.") || name == "wte.weight") << name;
  }
}

}  // namespace
}  // namespace partita

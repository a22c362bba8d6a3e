// Folders that transformers have written (tests/soak/hugging_face/make_folders.py): logits and ten steps of training
// are those of PyTorch on any number of ranks under cuts of data, tensors and stages; exported folders have the same
// tensors.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "frontend/data/readers/memory_rows.h"
#include "runtime/checkpoint/saved_states.h"
#include "runtime/checkpoint/weights.h"
#include "support/places.h"
#include "support/token_trainings.h"
#include "training/model.h"
#include "zoo/hugging_face/export.h"
#include "zoo/hugging_face/folder.h"
#include "zoo/zoo_job.h"

namespace partita {
namespace {

constexpr int64_t kFolderRows = 24;

const std::vector<std::string>& folder_names() {
  static const std::vector<std::string> list{"gpt2",  "llama", "mistral", "mixtral", "qwen2",
                                             "qwen3", "bert",  "vit",     "resnet"};
  return list;
}

std::string folder_of_test(const std::string& name) {
  return fmt::format("{}/tests/hugging_face/{}", kSourceDir, name);
}

/// Returns the model, for rows as short as those of the test.
std::string spec_of(const std::string& name) {
  const std::string size = name == "bert" ? ",seq=12,masked=3" : name == "resnet" ? ",size=32" : ",seq=12";
  return "hf:" + folder_of_test(name) + (name == "vit" ? "" : size);
}

struct Expected {
  std::vector<std::pair<std::string, Array>> columns;
  Array logits, losses;
};

Expected expected_of(const std::string& name) {
  Expected expected;
  for (auto& [key, array] : load_weights(folder_of_test(name) + "/expected.safetensors")) {
    if (key == "logits") {
      expected.logits = array;
    } else if (key == "losses") {
      expected.losses = array;
    } else {
      expected.columns.emplace_back(key, array);
    }
  }
  return expected;
}

struct RankPlan {
  int ranks = 1;
  PlanOptions options{};
};

JobConfig config_of(const std::string& name, const RankPlan& plan) {
  JobConfig config = configured(spec_of(name), {});
  config.training.batch = kFolderRows;
  config.training.batch_norm = BatchNormStatistics::global;
  config.optimizer = {.kind = OptimizerKind::sgd};
  config.schedule = {.kind = LrKind::constant, .learning_rate = 0.05};
  config.data = {};
  config.ranks = {.count = plan.ranks, .threads = 1};
  config.plan.options = plan.options;
  config.console.quiet = true;
  return config;
}

/// Trains ten steps of one batch and returns the losses.
std::vector<double> losses_under(const std::string& name, const RankPlan& plan, const Expected& expected) {
  Model model(config_of(name, plan), Place{.cores = 8});
  std::vector<double> losses;
  RecordedLosses recorded(losses);
  FitOptions fit{.epochs = 10};
  fit.callbacks = {&recorded};
  model.train(memory_rows(expected.columns), fit);
  return losses;
}

void expect_losses(const std::vector<double>& got, const Array& expected, const std::string& what) {
  ASSERT_EQ(static_cast<int64_t>(got.size()), expected.type().elements()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], expected.at(static_cast<int64_t>(i)), 1e-5) << what << ", step " << i + 1;
  }
}

class HuggingFace : public testing::TestWithParam<std::string> {};

TEST_P(HuggingFace, LogitsAreThoseOfPyTorch) {
  const Expected expected = expected_of(GetParam());
  Model model(config_of(GetParam(), {}), Place{.cores = 8});
  std::vector<std::pair<std::string, Array>> inputs = expected.columns;
  std::erase_if(inputs, [](const auto& column) { return column.first == "label"; });
  const Array logits = model.predict(NamedArrays(inputs.begin(), inputs.end())).at(0).second;
  ASSERT_EQ(logits.type().elements(), expected.logits.type().elements());
  for (int64_t i = 0; i < logits.type().elements(); ++i) {
    ASSERT_NEAR(logits.at(i), expected.logits.at(i), 1e-5) << "element " << i;
  }
}

TEST_P(HuggingFace, TrainsAsPyTorchOnAnyNumberOfRanks) {
  const Expected expected = expected_of(GetParam());
  for (const int ranks : {1, 2, 3, 4, 6, 8}) {
    expect_losses(losses_under(GetParam(), {.ranks = ranks}, expected), expected.losses,
                  fmt::format("data parallel on {} ranks", ranks));
  }
}

TEST_P(HuggingFace, TrainsAsPyTorchUnderCutsOfTensorsAndStages) {
  if (GetParam() == "resnet") GTEST_SKIP() << "has no blocks to cut";
  const Expected expected = expected_of(GetParam());
  const std::vector<std::pair<std::string, RankPlan>> plans{
      {"tensor 2", {.ranks = 2, .options = {.parallel = Parallel::automatic, .blocks = {.tensor = 2}}}},
      {"tensor 4", {.ranks = 4, .options = {.parallel = Parallel::automatic, .blocks = {.tensor = 4}}}},
      {"tensor 2 of 8", {.ranks = 8, .options = {.parallel = Parallel::automatic, .blocks = {.tensor = 2}}}},
      {"stages 2",
       {.ranks = 2, .options = {.parallel = Parallel::semi, .micro_batches = 2, .pipeline = {.stages = 2}}}},
      {"stages 2 of 6",
       {.ranks = 6, .options = {.parallel = Parallel::semi, .micro_batches = 4, .pipeline = {.stages = 2}}}},
  };
  for (const auto& [what, plan] : plans) expect_losses(losses_under(GetParam(), plan, expected), expected.losses, what);
}

TEST_P(HuggingFace, ExportedFoldersHaveTheSameTensors) {
  const std::string name = GetParam(), folder = testing::TempDir() + "/exported_" + name;
  std::filesystem::remove_all(folder);
  const ZooModel model = make_model(spec_of(name));
  const std::vector<NamedType> weights = weights_of(
      ZooJob(configured(spec_of(name), {}), Place{.cores = 8}).program(Purpose::evaluation, Stage::graph).graph);
  const auto source = open_hugging_face(folder_of_test(name), weights);
  std::map<std::string, Type> types;
  for (const auto& [weight, type] : weights) types.emplace(weight, type);
  export_hugging_face(
      model, weights,
      [&](const std::string& weight) {
        Array array(types.at(weight));
        source->read(weight, whole_box(array.type().shape), array.type().dtype, array.data());
        return array;
      },
      folder);
  const std::map<std::string, Array> before = load_weights(folder_of_test(name) + "/model.safetensors"),
                                     after = load_weights(folder + "/model.safetensors");
  ASSERT_EQ(before.size(), after.size());
  for (const auto& [tensor, array] : before) {
    ASSERT_TRUE(after.contains(tensor)) << tensor;
    EXPECT_EQ(after.at(tensor).type(), array.type()) << tensor;
    if (tensor.ends_with("num_batches_tracked")) continue;
    EXPECT_EQ(std::memcmp(after.at(tensor).data(), array.data(), static_cast<size_t>(array.type().bytes())), 0)
        << tensor;
  }
  // The folder describes the same model again.
  EXPECT_EQ(read_hugging_face_model("hf:" + folder).spec, read_hugging_face_model("hf:" + folder_of_test(name)).spec);
}

INSTANTIATE_TEST_SUITE_P(Folders, HuggingFace, testing::ValuesIn(folder_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace partita

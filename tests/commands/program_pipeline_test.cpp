// Every command makes programs in one way: what graph and partition print is what train runs.

#include "support/program.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

using Words = std::vector<std::string>;

/// Small sizes of every model of the zoo.
const Words kModels{"mlp:hidden=16",
                    "lenet:dropout=0.1",
                    "resnet18:width=4,size=16",
                    "resnet50:width=4,size=16",
                    "resnet101:width=4,size=16",
                    "resnet152:width=2,size=16",
                    "wide_resnet:width=2,size=16",
                    "inception:width=1,size=75",
                    "vit:layers=2,hidden=16,heads=2,size=16,patch=8,classes=4,dropout=0.1",
                    "gpt:layers=2,hidden=16,heads=2,seq=16,dropout=0.1",
                    "moe:layers=2,hidden=16,heads=2,seq=16,experts=4,shared=1",
                    "llama:layers=2,hidden=16,heads=4,kv_heads=2,seq=16",
                    "bert:layers=2,hidden=16,heads=2,seq=16,dropout=0.1",
                    "t5:layers=2,hidden=16,heads=2,seq=16,target=8,dropout=0.1",
                    "recommender:fields=4,rows=50,width=8,hidden=16",
                    "quickstart"};

const std::vector<Words> kFlags{
    {},
    {"--seed", "7", "--dtype", "f64", "--optimizer", "momentum", "--nesterov", "--clip-norm", "0.5"},
    {"--ranks", "4", "--threads", "1", "--batch-norm", "global"},
    {"--ranks", "4", "--threads", "1", "--parallel", "auto", "--no-pass", "partial_sums"},
    {"--ranks", "2", "--threads", "1", "--parallel", "hybrid", "--optimizer", "adamw", "--weight-decay", "0.1"}};

Words joined(std::initializer_list<Words> parts) {
  Words all;
  for (const Words& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::string printed(const Words& words) {
  const Outcome outcome = run_program(words);
  EXPECT_EQ(outcome.exit_code, 0) << fmt::format("{}: {}", fmt::join(words, " "), fmt::join(outcome.lines, "\n"));
  return outcome.output;
}

class ProgramPipeline : public testing::TestWithParam<std::tuple<size_t, size_t>> {};

TEST_P(ProgramPipeline, GraphAndPartitionPrintWhatTrainRuns) {
  const TempDir folder;
  const auto& [model_at, flags_at] = GetParam();
  const std::string& model = kModels[model_at];
  const Words batch = model == "quickstart" ? Words{} : Words{"--batch", "8"};
  Words common = joined({{model}, batch, kFlags[flags_at]});
  // It is annotated for eight ranks.
  if (model == "quickstart") std::replace(common.begin(), common.end(), std::string("4"), std::string("8"));
  printed(joined({{"train"}, common, {"--steps", "1", "--no-eval", "--dump", folder.path().string()}}));
  const bool is_split = flags_at >= 2;
  EXPECT_EQ(printed(joined({{"graph"}, common, {"--training"}})),
            read_text(folder.path() / (is_split ? "4_partition.txt" : "2_training.txt")));
  EXPECT_EQ(printed(joined({{"partition"}, common})), read_text(folder.path() / "rank_0/partition.txt"));
  EXPECT_EQ(printed(joined({{"partition"}, common, {"--print-plan"}})), read_text(folder.path() / "3_plan.txt"));
  if (is_split) {
    EXPECT_EQ(printed(joined({{"partition"}, common, {"--rank", "1"}})),
              read_text(folder.path() / "rank_1/partition.txt"));
  }
}

INSTANTIATE_TEST_SUITE_P(ModelsAndFlags, ProgramPipeline,
                         testing::Combine(testing::Range<size_t>(0, kModels.size()),
                                          testing::Range<size_t>(0, kFlags.size())));

TEST(ProgramPipelineModels, AreAllOfTheZoo) {
  Words names;
  for (const std::string& spec : kModels) names.push_back(spec.substr(0, spec.find(':')));
  EXPECT_EQ(names, model_names());
}

// A configuration that was printed makes the same weights, bit by bit, whatever flags it came from.
TEST(Configuration, APrintedOneReproducesTheRun) {
  const TempDir folder;
  const std::string config = (folder.path() / "job.toml").string(), first = (folder.path() / "a").string(),
                    second = (folder.path() / "b").string();
  for (const Words& flags :
       {Words{"lenet:dropout=0.2", "--ranks", "3", "--batch", "24", "--seed", "18446744073709551615", "--lr", "0.0123"},
        Words{"gpt:layers=1,hidden=16,heads=2,seq=8", "--optimizer", "adam", "--epsilon", "1e-7", "--dtype", "f64"},
        Words{"mlp:layers=1,hidden=12", "--batch", "12", "--ranks", "2", "--parallel", "semi", "--shard",
              "net/fc1/matmul=((2,1),(1,1))", "--shard", "net/fc2/matmul=((1,2),(1,2))"}}) {
    const Words run{"--steps", "4", "--threads", "1", "--no-eval", "--quiet"};
    write_text(config, printed(joined({{"train"}, flags, run, {"--print-config"}})));
    printed(joined({{"train"}, flags, run, {"--save", first}}));
    printed({"train", "--config", config, "--save", second});
    EXPECT_EQ(read_text(first), read_text(second)) << flags[0];
    // What is printed of it is it, and flags override it.
    EXPECT_EQ(printed({"train", "--config", config, "--print-config"}), read_text(config));
    EXPECT_NE(printed({"train", "--config", config, "--steps", "5", "--print-config"}).find("\nsteps = 5\n"),
              std::string::npos);
  }
}

TEST(Configuration, IsPartOfWhatIsSaved) {
  const TempDir folder;
  const std::string path = (folder.path() / "a").string();
  printed({"train", "mlp:hidden=4", "--steps", "1", "--no-eval", "--momentum", "0.75", "--save", path});
  const std::string bytes = read_text(path);
  EXPECT_NE(bytes.find("__metadata__"), std::string::npos);
  EXPECT_NE(bytes.find("momentum = 0.75"), std::string::npos);
  EXPECT_NE(bytes.find("model = \\\"mlp:hidden=4\\\""), std::string::npos);
}

}  // namespace
}  // namespace partita

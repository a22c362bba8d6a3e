// Plans are printed, written, and trained.

#include <fstream>
#include <nlohmann/json.hpp>

#include "support/program.h"

namespace partita {
namespace {

using PlanWords = std::vector<std::string>;

constexpr const char* kNetwork = "gpt:layers=8,hidden=32,heads=4,seq=16";

nlohmann::json planned(const PlanWords& more, const std::string& network = kNetwork) {
  PlanWords words{"plan", network, "--batch", "24", "--json"};
  words.insert(words.end(), more.begin(), more.end());
  const Outcome outcome = run_program(words);
  EXPECT_EQ(outcome.exit_code, 0);
  return nlohmann::json::parse(outcome.output);
}

TEST(Plan, PricesAConfiguration) {
  const nlohmann::json one = planned({"--cluster", "a100-80", "--fixed", "data=2,pipeline=4,micro_batch=1"});
  EXPECT_GT(one.at("step_seconds"), 0);
  EXPECT_LE(one.at("lower_bound_seconds"), one.at("step_seconds"));
  EXPECT_EQ(one.at("peak_memory_bytes").size(), 4U);
  EXPECT_EQ(one.at("plan"), "data=2,pipeline=4,micro_batch=1");
  EXPECT_GT(one.at("breakdown").at("bubble"), 0);
  EXPECT_GT(one.at("breakdown").at("communication").at("send"), 0);
  EXPECT_GT(one.at("tflops_per_device"), 0);
  const auto seconds_on = [](const std::string& cluster) {
    const PlanWords words{"--cluster", cluster, "--dtype", "bf16", "--fixed", "data=2,pipeline=4,micro_batch=1"};
    return planned(words, "gpt:layers=8,hidden=4096,heads=32,seq=1024").at("step_seconds").get<double>();
  };
  EXPECT_GT(seconds_on("v100"), seconds_on("a100-80"));
  EXPECT_GT(seconds_on("a100-80"), seconds_on("h100"));
}

TEST(Plan, PricesReductionsAndCastsIn16Bits) {
  const std::string network = "gpt:layers=8,hidden=2048,heads=16,seq=512";
  const auto reduced_on = [&](const char* zero, const char* kind, const char* dtype) {
    const std::string fixed = fmt::format("data=8,micro_batch=3,zero={}", zero);
    const nlohmann::json priced =
        planned({"--cluster", "a100-80", "--precision", "bf16", "--fixed", fixed, "--reduce-dtype", dtype}, network);
    return priced.at("breakdown").at("communication").at(kind).get<double>();
  };
  for (const auto& [zero, kind] : {std::pair("1", "reduce_scatter"), std::pair("2", "reduce_scatter")}) {
    const double whole = reduced_on(zero, kind, "f32"), half = reduced_on(zero, kind, "bf16");
    EXPECT_LT(half, 0.7 * whole) << zero;
    EXPECT_GT(half, 0.4 * whole) << zero;
  }
  const auto step_on = [&](const char* cluster, const char* dtype) {
    return planned({"--cluster", cluster, "--fixed", "data=8,micro_batch=3", "--dtype", dtype}, network)
        .at("step_seconds")
        .get<double>();
  };
  EXPECT_LT(step_on("a100-80", "bf16"), 0.8 * step_on("a100-80", "f32"));
  // A processor that computes products in f32 casts their operands. What follows them moves 16 bits without casts.
  EXPECT_NEAR(step_on("cpu", "bf16") / step_on("cpu", "f32"), 1, 0.05);
  const Outcome refused = run_program({"plan", kNetwork, "--dtype", "f64", "--reduce-dtype", "bf16"});
  EXPECT_EQ(refused.exit_code, 64);
  EXPECT_EQ(refused.lines,
            std::vector<std::string>{"partita: error: [--reduce-dtype] has no effect, got bf16 with --dtype f64, "
                                     "expected --dtype f32 or bf16"});
}

TEST(Plan, SaysWhichSoftwareAndWhatWasFitted) {
  const PlanWords fixed{"--fixed", "data=2,tensor=2,micro_batch=3", "--cluster"};
  const auto on = [&](const std::string& cluster) {
    PlanWords words = fixed;
    words.push_back(cluster);
    return planned(words);
  };
  const nlohmann::json megatron = on("a100-80"), own = on("a100-80@partita");
  EXPECT_EQ(megatron.at("software"), "megatron-lm");
  EXPECT_EQ(own.at("software"), "partita");
  EXPECT_GT(megatron.at("step_seconds"), own.at("step_seconds"));  // a small network waits for its host
  EXPECT_GT(megatron.at("breakdown").at("waiting"), 0);
  EXPECT_EQ(own.at("breakdown").at("waiting"), 0);
  EXPECT_LE(megatron.at("fitted").size(), 12U);
  EXPECT_TRUE(megatron.at("fitted").contains("software.host_overhead"));
  EXPECT_FALSE(own.at("fitted").contains("software.host_overhead"));
  const nlohmann::json& parts = megatron.at("memory_bytes").at(0);
  int64_t sum = 0;
  for (const auto& [name, bytes] : parts.items()) sum += bytes.get<int64_t>();
  EXPECT_NEAR(static_cast<double>(sum), megatron.at("peak_memory_bytes").at(0).get<double>(), 5);

  // What `partita cluster` prints is the same cluster.
  const TempDir folder;
  const std::string path = (folder.path() / "a100.toml").string();
  const Outcome printed = run_program({"cluster", "a100-80"});
  std::ofstream(path) << printed.output;
  EXPECT_EQ(on(path).at("step_seconds"), megatron.at("step_seconds"));
  const Outcome fitted = run_program({"cluster", path, "--fitted"});
  EXPECT_NE(fitted.output.find("software.host_overhead = 56.5e-6\n"), std::string::npos) << fitted.output;
  EXPECT_EQ(static_cast<size_t>(std::count(fitted.output.begin(), fitted.output.end(), '\n')),
            megatron.at("fitted").size());
}

TEST(Plan, CostsAsMuchFoundAsPinnedAndFixed) {
  const auto price = [&](const PlanWords& more) {
    PlanWords words{
        "plan", "gpt:layers=13,hidden=1000,heads=10,seq=512,vocab=32003", "--batch", "30", "--dtype", "bf16", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return nlohmann::json::parse(run_program(words).output);
  };
  const nlohmann::json found = price({"--cluster", "h200:64"});
  const std::string text = found.at("plan");
  EXPECT_EQ(price({"--cluster", "h200:64", "--pin", text}).at("step_seconds"), found.at("step_seconds"));
  EXPECT_EQ(price({"--cluster", "h200:64", "--fixed", text}).at("step_seconds"), found.at("step_seconds"));
  EXPECT_EQ(price({"--cluster", "h200:5", "--pin", text}).at("step_seconds"), found.at("step_seconds"));
  const std::string searched =
      "data=3,tensor=2,cuts=searched,links=2,pipeline=4,micro_batch=10,order=zero_bubble,zero=1";
  EXPECT_EQ(price({"--cluster", "h200:64", "--pin", searched}).at("step_seconds"),
            price({"--cluster", "h200:64", "--fixed", searched}).at("step_seconds"));
}

TEST(Plan, FindsCutsThatFit) {
  const Outcome outcome = run_program({"plan", "wide_resnet:4b", "--cluster", "v100", "--batch", "1536"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.output.find("cuts=searched"), std::string::npos) << outcome.output;
  const Outcome tighter =
      run_program({"plan", "wide_resnet:4b", "--cluster", "v100", "--batch", "1536", "--memory", "10"});
  EXPECT_EQ(tighter.exit_code, 0);
  EXPECT_NE(tighter.output.find("cuts=searched,squeeze="), std::string::npos) << tighter.output;
}

TEST(Plan, SaysWhatAPriceStandsOn) {
  const PlanWords fixed{"--fixed", "data=2,tensor=4,micro_batch=12", "--cluster", "a100-80@partita"};
  const std::string network = "gpt:layers=8,hidden=4096,heads=32,seq=1024";
  const nlohmann::json tf32 = planned(fixed, network);
  ASSERT_EQ(tf32.at("notes").size(), 2U) << tf32;
  EXPECT_NE(tf32.at("notes").at(0).get<std::string>().find("in TF32"), std::string::npos);
  PlanWords exact = fixed;
  for (const char* word : {"--tf32", "false"}) exact.emplace_back(word);
  const nlohmann::json f32 = planned(exact, network);
  ASSERT_EQ(f32.at("notes").size(), 1U) << f32;
  EXPECT_NE(f32.at("notes").at(0).get<std::string>().find("has been measured on"), std::string::npos);
  EXPECT_GT(f32.at("step_seconds"), 2 * tf32.at("step_seconds").get<double>());
  const Outcome waits = run_program(
      {"plan", "resnet50:classes=1000,size=224", "--cluster", "a100-80:5", "--batch", "240", "--dtype", "bf16"});
  EXPECT_NE(waits.output.find("note           39 % of a step the devices wait for their hosts"), std::string::npos)
      << waits.output;
}

TEST(Plan, PrintsStagesAndTemplates) {
  const Outcome outcome = run_program({"plan", kNetwork, "--batch", "24", "--cluster", "a100-80:2"});
  for (const char* part : {"configuration", "step", "compute", "memory", "data parallel", "Megatron"})
    EXPECT_NE(outcome.output.find(part), std::string::npos) << part << " in " << outcome.output;
  EXPECT_NE(outcome.output.find("lower bound"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("\nsearched       data, tensor, cuts"), std::string::npos) << outcome.output;
  const nlohmann::json same = planned({"--cluster", "a100-80:2"});
  const std::string line = "configuration  " + same.at("plan").get<std::string>() + "\n";
  EXPECT_NE(outcome.output.find(line), std::string::npos) << line << outcome.output;
  EXPECT_EQ(same.at("searched").get<std::string>().substr(0, 12), "data, tensor");
}

// A small network on many ranks is faster when most have nothing to do; pins make others work.
TEST(Plan, SaysHowManyRanksAreIdle) {
  const Outcome outcome = run_program({"plan", kNetwork, "--batch", "24", "--cluster", "a100-80:128"});
  EXPECT_NE(outcome.output.find("\nidle "), std::string::npos) << outcome.output;
  const nlohmann::json found = planned({"--cluster", "a100-80:128"}),
                       pinned = planned({"--cluster", "a100-80:128", "--pin", "data=24,tensor=4,pipeline=8"});
  EXPECT_LT(found.at("step_seconds"), pinned.at("step_seconds"));
}

/// The losses of the first steps.
std::string losses_of(const PlanWords& words) {
  PlanWords all = words;
  all.insert(all.end(), {"--steps", "4", "--per-print-times", "1", "--no-eval", "--dtype", "f64", "--threads", "1"});
  const Outcome outcome = run_program(all);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  std::string losses;
  for (size_t at = outcome.output.find("loss is "); at != std::string::npos;
       at = outcome.output.find("loss is ", at + 1))
    losses += outcome.output.substr(at + 8, 12) + " ";  // 11 digits
  return losses;
}

void expect_trained_alike(const std::string& network, const std::vector<const char*>& all_pins) {
  const std::string one = losses_of({"train", network, "--batch", "24"});
  ASSERT_FALSE(one.empty());
  const TempDir folder;
  const std::string path = (folder.path() / "plan.txt").string();
  for (const char* pins : all_pins) {
    SCOPED_TRACE(network + " " + pins);
    planned({"--cluster", "cpu", "--pin", pins, "--out", path}, network);
    EXPECT_EQ(losses_of({"train", "--plan", path}), one);
    EXPECT_EQ(losses_of({"train", network, "--plan", path}), one);
  }
}

TEST(Plan, CanBeTrained) {
  expect_trained_alike(
      kNetwork, {"data=2", "data=3,zero=1,micro_batch=2", "tensor=2,data=2", "pipeline=4,data=1,tensor=1",
                 "pipeline=2,data=3,micro_batch=1", "pipeline=2,interleave=2,tensor=2,sequence_parallel=true,data=2",
                 "data=4,recompute=full,zero=3", "tensor=4,cuts=searched,squeeze=3,data=1"});
}

TEST(Plan, OtherNetworksCanBeTrained) {
  const std::vector<const char*> ranks{"data=2", "data=2,pipeline=2,micro_batch=3", "data=3,pipeline=2,micro_batch=1",
                                       "data=4,pipeline=2,zero=1,micro_batch=2"};
  expect_trained_alike("mlp:layers=6,hidden=24", ranks);
  expect_trained_alike("lenet", {"data=2", "data=4,zero=2,micro_batch=2", "data=6", "data=8,zero=3"});
  expect_trained_alike("llama:layers=4,hidden=16,heads=4,kv_heads=2,intermediate=24,seq=8,vocab=256",
                       {"data=2", "tensor=2,data=2,pipeline=1", "data=3,pipeline=2,tensor=1,micro_batch=4",
                        "tensor=2,pipeline=2,data=2,micro_batch=2"});
}

// A plan is priced with statistics of each row by itself, and trained with those of the rows of a rank.
TEST(Plan, NetworksWithBatchNormsCanBeTrained) {
  const TempDir folder;
  const std::string path = (folder.path() / "plan.txt").string(), network = "resnet18:width=4,size=16";
  planned({"--cluster", "cpu", "--fixed", "data=2,micro_batch=6", "--out", path}, network);
  EXPECT_FALSE(losses_of({"train", "--plan", path, "--resize", "16"}).empty());
  EXPECT_EQ(run_program({"explain", path}).exit_code, 0);
}

TEST(Plan, IsMadeForTheRanksAtHand) {
  for (const char* network : {kNetwork, "mlp:layers=6,hidden=24", "lenet"}) {
    const std::string one = losses_of({"train", network, "--batch", "24"});
    for (const char* ranks : {"1", "2", "4", "6", "8"}) {
      SCOPED_TRACE(ranks);
      EXPECT_EQ(losses_of({"train", network, "--batch", "24", "--ranks", ranks, "--plan", "auto"}), one);
    }
    EXPECT_EQ(losses_of({"train", network, "--batch", "24", "--ranks", "4", "--plan", "auto:v100"}), one);
  }
}

/// A plan of the network on 4 ranks in 2 stages, as a file.
class SavedPlan : public testing::Test {
 protected:
  void SetUp() override {
    planned({"--cluster", "cpu", "--fixed", "data=1,tensor=2,pipeline=2,micro_batch=6", "--out", path()});
  }
  std::string path(const std::string& name = "plan.txt") const { return (folder_.path() / name).string(); }

  /// The plan with parts of its text replaced, in another file.
  std::string edited(const std::vector<std::pair<std::string, std::string>>& changes) const {
    std::string text = read_text(path());
    for (const auto& [from, to] : changes) {
      EXPECT_NE(text.find(from), std::string::npos) << from << " in " << text;
      text.replace(text.find(from), from.size(), to);
    }
    write_text(path("edited.txt"), text);
    return path("edited.txt");
  }

  std::string output_of(const PlanWords& words) const {
    const Outcome outcome = run_program(words);
    EXPECT_EQ(outcome.exit_code, 0) << (outcome.lines.empty() ? "" : outcome.lines[0]);
    return outcome.output;
  }

 private:
  const TempDir folder_;
};

TEST_F(SavedPlan, IsEditedAndTrained) {
  const std::string one = losses_of({"train", kNetwork, "--batch", "24"});
  const std::string gelu = "node net/h/0..7/mlp/gelu c={tensor}";
  // Some layers are cut otherwise than others, some not at all, or as a search finds it best.
  const std::vector<std::vector<std::pair<std::string, std::string>>> edits{
      {{gelu, "node net/h/0..3/mlp/gelu b={tensor}\nnode net/h/4..5/mlp/gelu c={tensor}"}},
      {{"micro_batch=6", "micro_batch=4,order=gpipe,recompute=full"}},
      {{"mesh tensor=2", "mesh tensor=2\nothers exact"}, {gelu, ""}},
      {{"net/h/0..3", "net/h/0..2"}, {"net/h/4..7", "net/h/3..7"}},
      {{"stage 0 net/embedding net/add net/h/0..3\n", ""}, {"stage 1 net/h/4..7 net/ln_f net/matmul loss\n", ""}}};
  for (const auto& changes : edits) {
    SCOPED_TRACE(changes[0].second);
    EXPECT_EQ(losses_of({"train", "--plan", edited(changes)}), one);
  }
}

TEST_F(SavedPlan, IsSavedAgainAlike) {
  const PlanWords words{"plan",      kNetwork, "--batch", "24",
                        "--cluster", "cpu",    "--fixed", "data=1,tensor=2,pipeline=2,micro_batch=6",
                        "--out"};
  PlanWords again = words;
  again.push_back(path("again.txt"));
  output_of(again);
  EXPECT_EQ(read_text(path("again.txt")), read_text(path()));
}

TEST_F(SavedPlan, IsPrintedByOtherCommands) {
  const std::string plan = output_of({"schedule", "--plan", path()});
  EXPECT_NE(plan.find("order 1f1b: 2 stages on 2 groups of ranks, 4 micro-batches"), std::string::npos) << plan;
  EXPECT_NE(plan.find("mesh tensor=2"), std::string::npos) << plan;
  const std::string part = output_of({"partition", "--plan", path(), "--rank", "3"});
  EXPECT_NE(part.find("# stage 1 of 2\n"), std::string::npos) << part;
  EXPECT_NE(part.find("all_reduce"), std::string::npos) << part;
  const std::string config = output_of({"train", "--plan", path(), "--print-config"});
  write_text(path("job.toml"), config);
  EXPECT_EQ(output_of({"train", "--config", path("job.toml"), "--print-config"}), config);
}

TEST_F(SavedPlan, TestsWeights) {
  const std::string weights = path("w.safetensors");
  output_of({"train", "--plan", path(), "--steps", "2", "--no-eval", "--save", weights});
  const auto accuracy = [&](PlanWords words) {
    words.insert(words.end(), {"--load", weights});
    return output_of(words).substr(0, 60);
  };
  EXPECT_EQ(accuracy({"eval", "--plan", path()}), accuracy({"eval", kNetwork}));
}

TEST_F(SavedPlan, IsExplained) {
  const std::string layers = output_of({"explain", path()});
  for (const char* part : {"step ", "bubble", "net/h/0..7", "tensor: columns", "stage 1", "group 1"}) {
    EXPECT_NE(layers.find(part), std::string::npos) << part << " in " << layers;
  }
  const std::string op = output_of({"explain", path(), "--op", "net/h/3/mlp/fc/matmul"});
  EXPECT_NE(op.find("* j={tensor}"), std::string::npos) << op;
  EXPECT_NE(op.find("the plan's"), std::string::npos) << op;
  EXPECT_NE(op.find("computes 2 times as much on a rank"), std::string::npos) << op;
  EXPECT_NE(op.find("by all_reduce over tensor"), std::string::npos) << op;
  for (const char* layer : {"0", "3", "7"}) {  // as it was asked for, not the layer that stands for it
    const std::string name = fmt::format("net/h/{}/mlp/fc/matmul", layer);
    EXPECT_NE(output_of({"explain", path(), "--op", name}).find("\n" + name + "\n"), std::string::npos);
  }
  const std::string free = output_of({"explain", path(), "--op", "net/h/3/mlp/fc/matmul", "--free"});
  EXPECT_NE(free, op);
  EXPECT_NE(
      free.find(
          "the cuts of all other nodes are chosen anew, also for the plan's cut: times are not those of the plan"),
      std::string::npos);
  EXPECT_EQ(op.find("chosen anew"), std::string::npos);
}

TEST_F(SavedPlan, IsPricedAsItIsEdited) {
  const auto step_of = [&](const std::string& plan) {
    const std::string text = output_of({"explain", plan});
    return text.substr(text.find("step  "), 40);
  };
  const std::string before = step_of(path());
  // What is gathered between the products of a layer takes time; the same cut in other words takes none.
  EXPECT_EQ(step_of(edited({{"node net/h/0..7/mlp/gelu c={tensor}",
                             "node net/h/0..3/mlp/gelu c={tensor}\nnode net/h/4..7/mlp/gelu c={tensor}"}})),
            before);
  const std::string whole = edited({{"node net/h/0..7/mlp/gelu c={tensor}\n", ""}});
  EXPECT_NE(step_of(whole), before);
  EXPECT_EQ(output_of({"explain", whole}).find("8 nodes are cut differently from the configuration, "), 0U);
}

// A text without cuts is trained with those that a search finds, not with blocks.
TEST(Plan, SearchedCutsAreTrained) {
  const TempDir folder;
  const std::string path = (folder.path() / "plan.txt").string();
  const auto write_plan = [&](const std::string& network, const std::string& cuts) {
    write_text(path, "partita training plan 1\nmodel " + network +
                         "\nbatch 24\nranks 4\nparallel auto\nconfiguration data=1,tensor=4" + cuts + "\nend\n");
  };
  const auto schedule = [&] { return run_program({"schedule", "--plan", path}).output; };
  write_plan(kNetwork, "");
  const std::string blocks = schedule();
  for (const std::string network : {kNetwork, "mlp:layers=6,hidden=24"}) {
    write_plan(network, ",cuts=searched");
    EXPECT_EQ(losses_of({"train", "--plan", path}), losses_of({"train", network, "--batch", "24"}));
    EXPECT_NE(schedule(), blocks);
  }
}

// The name of an axis stands for all of its sub-axes.
TEST(Plan, AxesAreNamedAsAWhole) {
  const TempDir folder;
  const std::string path = (folder.path() / "plan.txt").string(), short_path = (folder.path() / "short.txt").string();
  planned({"--cluster", "cpu", "--fixed", "data=2,tensor=4", "--out", path});
  std::string text = read_text(path);
  const std::string all = "tensor.0,tensor.1";
  ASSERT_NE(text.find(all), std::string::npos) << text;
  for (size_t at = 0; (at = text.find(all)) != std::string::npos;) text.replace(at, all.size(), "tensor");
  write_text(short_path, text);
  EXPECT_EQ(losses_of({"train", "--plan", short_path}), losses_of({"train", "--plan", path}));
  const Outcome outcome = run_program({"diff", path, short_path});
  EXPECT_EQ(outcome.output.find("the plans are the same\n"), 0U) << outcome.output;
  EXPECT_EQ(run_program({"explain", short_path}).output, run_program({"explain", path}).output);
}

TEST(Plan, HelpSaysWhatACommandTakes) {
  const std::string diff = run_program({"diff", "--help"}).output, explain = run_program({"explain", "--help"}).output;
  EXPECT_NE(diff.find("Example: partita diff plan.txt edited.txt"), std::string::npos) << diff;
  EXPECT_NE(explain.find("PRESET[:NODES][@SOFTWARE]"), std::string::npos) << explain;
}

TEST_F(SavedPlan, IsComparedWithAnother) {
  EXPECT_NE(output_of({"diff", path(), path()}).find("the plans are the same\n"), std::string::npos);
  const std::string other = edited({{"node net/h/0..7/mlp/gelu c={tensor}", "node net/h/0..3/mlp/gelu b={tensor}"},
                                    {"micro_batch=6", "micro_batch=4"},
                                    {"net/h/0..3", "net/h/0..2"},
                                    {"net/h/4..7", "net/h/3..7"}});
  const std::string text = output_of({"diff", path(), other});
  for (const char* part :
       {"micro_batch    6 -> 4\n",
        "stage 0        net/embedding net/add net/h/0..3 -> net/embedding net/add net/h/0..2\n",
        "cuts           8 of 142 nodes differ\n", "  net/h/0..3/mlp/gelu  c={tensor} -> b={tensor}\n",
        "  net/h/4..7/mlp/gelu  c={tensor} -> not cut\n", "step  ", "memory  "}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

TEST_F(SavedPlan, SaysWhichLayersAreRecomputed) {
  const std::string configuration = "data=1,tensor=2,pipeline=2,micro_batch=6,recompute=full:3/1+selective:0/2";
  const nlohmann::json mixed =
      planned({"--cluster", "cpu", "--fixed", configuration, "--out", path("mixed.txt"), "--html", path("a.html")});
  EXPECT_EQ(mixed.at("plan"), configuration);
  EXPECT_EQ(mixed.at("recomputed").at("full"), (std::vector<std::string>{"net/h/0..2", "net/h/4"}));
  EXPECT_EQ(mixed.at("recomputed").at("selective"), std::vector<std::string>{"net/h/5..6/attn/attention"});
  const std::string text = read_text(path("mixed.txt"));
  EXPECT_NE(text.find("\nrecompute full net/h/0..2 net/h/4\n"), std::string::npos) << text;
  EXPECT_EQ(losses_of({"train", "--plan", path("mixed.txt")}), losses_of({"train", kNetwork, "--batch", "24"}));
  const std::string explained = output_of({"explain", path("mixed.txt")});
  for (const char* part : {"net/h/4..7 net/ln_f net/matmul loss (recomputed: 1 full, 2 selective)\n",
                           "\nrecompute  full net/h/0..2 net/h/4\n", "\nnet/h/0..7, recompute full ",
                           "\nnet/h/0..7, recompute selective ", "\nnet/h/0..7, not recomputed "}) {
    EXPECT_NE(explained.find(part), std::string::npos) << part << " in " << explained;
  }
  EXPECT_NE(read_text(path("a.html")).find("net/h/0..7, recompute full"), std::string::npos);
  const std::string compared = output_of({"diff", path(), path("mixed.txt")});
  for (const char* part :
       {"recompute      default -> full:3/1+selective:0/2\n", "full in        none -> net/h/0..2 net/h/4\n",
        "selective in   none -> net/h/5..6/attn/attention\n"}) {
    EXPECT_NE(compared.find(part), std::string::npos) << part << " in " << compared;
  }
  // The lines say which layers these are, whatever the configuration counts; prices are those of what it counts.
  std::string edited = text;
  edited.replace(edited.find("net/h/0..2 net/h/4"), 18, "net/h/1..3 net/h/7");
  write_text(path("other.txt"), edited);
  EXPECT_EQ(losses_of({"train", "--plan", path("other.txt")}), losses_of({"train", "--plan", path("mixed.txt")}));
  const Outcome warned = run_program({"explain", path("other.txt")});
  EXPECT_EQ(warned.exit_code, 0);
}

TEST_F(SavedPlan, IsAPage) {
  output_of({"explain", path(), "--html", path("a.html")});
  output_of({"plan", "resnet18:width=4,size=8", "--cluster", "cpu", "--html", path("b.html")});
  for (const char* name : {"a.html", "b.html"}) {
    const std::string page = read_text(path(name));
    EXPECT_TRUE(page.ends_with("</html>\n"));
    for (const char* outside : {"http:", "https:", "src=", "href=", "url(", "<script"}) {
      EXPECT_EQ(page.find(outside), std::string::npos) << outside;
    }
    for (const char* part : {"<svg", "Timeline", "Memory", "Other plans", "Megatron"}) {
      EXPECT_NE(page.find(part), std::string::npos) << part;
    }
  }
}

TEST(Plan, FitsInTheMemoryThatItAskedFor) {
  for (const std::string cluster : {"cpu", "a100-80"}) {
    const PlanWords words{"plan",    "gpt:layers=4,hidden=64,heads=4,seq=32", "--batch", "16", "--cluster", cluster,
                          "--memory"};
    PlanWords little = words, enough = words;
    little.emplace_back("0.0002");
    const Outcome refused = run_program(little);
    ASSERT_EQ(refused.lines.size(), 1U) << cluster;
    const std::string flag = "It would fit with --memory ";
    const size_t at = refused.lines[0].find(flag);
    ASSERT_NE(at, std::string::npos) << refused.lines[0];
    const std::string rest = refused.lines[0].substr(at + flag.size());
    enough.push_back(rest.substr(0, rest.find(',')));
    EXPECT_EQ(run_program(enough).exit_code, 0) << cluster << refused.lines[0];
  }
}

}  // namespace
}  // namespace partita

// What `partita plan` refuses.

#include "support/program.h"

namespace partita {
namespace {

void plan_refused(const std::vector<std::string>& more, const std::string& message, ExitCode code = ExitCode::usage,
                  const std::string& model = "gpt:layers=4,hidden=64,heads=4") {
  std::vector<std::string> words{"plan", model};
  words.insert(words.end(), more.begin(), more.end());
  expect_refusal(words, code, {message});
}

TEST(PlanErrors, Clusters) {
  plan_refused({"--cluster", "h101"},
               "[cluster] unknown preset, got 'h101', expected one of v100 a100-40 a100-80 h100");
  plan_refused({"--cluster", "h100:0"}, "[cluster] ");
  plan_refused({"--cluster", "/none/there.toml"}, "[cluster] cannot read /none/there.toml", ExitCode::missing_file);
  const TempDir folder;
  const std::string path = (folder.path() / "bad.toml").string();
  write_text(path, "name = \"x\"\n[device\n");
  plan_refused({"--cluster", path}, "bad.toml", ExitCode::bad_input);
}

TEST(PlanErrors, Targets) {
  plan_refused(
      {"--target", "h10"},
      "[--target] unknown chip, got 'h10', expected one of a100-40 a100-80 h100 h200 b200 v5e v5p v6e, did you "
      "mean 'h100'?");
  plan_refused({"--target", "cpu"}, "[--target] unknown chip, got 'cpu', expected one of ");
  plan_refused({"--target", "h100:0"}, "[cluster] bad number of nodes in 'h100:0', got '0', expected 1 to ");
  plan_refused({"--target", "h100", "--cluster", "v100"},
               "[--target] --cluster names the devices, too, got h100 and v100, expected only one of the two");
}

TEST(PlanErrors, Configurations) {
  plan_refused({"--cluster", "v100", "--fixed", "data=16"},
               "[--fixed] more ranks than the cluster has, got 16, expected at most 8 of v100");
  plan_refused({"--cluster", "v100", "--fixed", "data=5"},
               "[--fixed] the batch does not divide, got 32 rows for data=5, expected data=4 or 8");
  plan_refused({"--cluster", "v100", "--fixed", "tensors=5"}, "did you mean 'tensor'?");
  plan_refused(
      {"--cluster", "v100", "--fixed", "pipeline=8,data=1,interleave=4"},
      "[pipeline] more stages than layers, got 32, expected at most 6: a plan moves whole layers, which are blocks "
      "that repeat and what comes before and after them; stages of partita train without a plan may have one "
      "node each");
  plan_refused({"--cluster", "v100", "--fixed", "tensor=8"}, "[--tensor-parallel] nothing to cut in graph mlp",
               ExitCode::usage, "mlp");
  plan_refused({"--cluster", "v100", "--fixed", "data=8", "--pin", "zero=1"},
               "[--pin] has no effect, got --fixed, which leaves nothing open, expected only one of the two");
  plan_refused({"--cluster", "v100", "--pin", "data=7"},
               "[--pin] the batch does not divide, got 32 rows for data=7, expected data=4 or 8");
  plan_refused(
      {"--cluster", "v100", "--pin", "tensor=4,pipeline=4"},
      "[--pin] more ranks than the cluster has, got data 1 x context 1 x tensor 4 x pipeline 4 = 16, expected at "
      "most 8 of v100");
  plan_refused({"--cluster", "v100", "--pin", "sequence_parallel=true,tensor=1"},
               "[--pin] sequence_parallel has nothing to cut over, got tensor=1, expected 2 or more");
  plan_refused({"--cluster", "v100", "--pin", "interleave=2,pipeline=1"},
               "[--pin] interleave=2 without stages, got pipeline=1, expected 2 or more");
  plan_refused({"--cluster", "v100", "--pin", "data=4,micro_batch=3"},
               "[--pin] the rows of a rank do not divide into micro-batches, got 8 rows for micro_batch=3, expected "
               "micro_batch=2 or 4");
  plan_refused({"--cluster", "v100", "--batch", "49", "--pin", "data=3"}, "49 rows for data=3, expected data=1 or 7");
  plan_refused({"--cluster", "v100", "--batch", "49", "--pin", "data=8"}, "49 rows for data=8, expected data=7");
  plan_refused({"--cluster", "v100", "--batch", "3", "--pin", "data=4"}, "3 rows for data=4, expected data=3");
  plan_refused({"--cluster", "v100", "--pin", "pipeline=2", "--batch", "24"},
               "[pipeline] more stages than layers, got ", ExitCode::usage, "lenet");
}

TEST(PlanErrors, PinsThatExcludeOneAnother) {
  plan_refused({"--cluster", "v100", "--pin", "tensor=1,cuts=searched"},
               "[--pin] cuts=searched without ranks, got tensor=1, expected 2 or more");
  plan_refused({"--cluster", "v100", "--pin", "sequence_parallel=true,cuts=searched"},
               "[--pin] cuts=searched also decides how the sequence is cut, got sequence_parallel=true, expected "
               "cuts=blocks, or neither");
  plan_refused({"--cluster", "v100", "--pin", "context=2,cuts=searched"},
               "[--pin] cuts=searched also decides how the sequence is cut, got context above 1");
}

// If a search could lower nothing, the message gives the simplest of the reasons.
TEST(PlanErrors, SaysWhyNothingCanBeLowered) {
  plan_refused({"--pin", "recompute=full"}, "[--recompute] ", ExitCode::usage, "mlp");
  plan_refused({"--pin", "context=2"}, "[--context-parallel] nothing to cut in graph mlp, got 2 ranks", ExitCode::usage,
               "mlp");
}

TEST(PlanErrors, SearchedCutsWithoutASearch) {
  const std::string refusal =
      "[--search] cuts=searched needs a search, got propagation, expected dynamic, recursive or exact, or cuts=blocks";
  plan_refused({"--cluster", "v100", "--search", "propagation", "--fixed", "tensor=2,cuts=searched"}, refusal);
  plan_refused({"--cluster", "v100", "--search", "propagation", "--pin", "cuts=searched"}, refusal);
}

TEST(PlanErrors, Graphs) {
  const TempDir folder;
  const std::string path = (folder.path() / "net.txt").string();
  const std::string text = run_program({"graph", "mlp", "--batch", "16"}).output;
  write_text(path, text);
  plan_refused({"--batch", "3"}, "[--batch] the graph fixes the number of rows, got 3, expected 16, or no --batch",
               ExitCode::usage, path);
  plan_refused({"--out", (folder.path() / "plan.txt").string()},
               "[plan] a graph file cannot be trained, got " + path + ", expected a model for --out", ExitCode::usage,
               path);
  plan_refused({}, "[graph] cannot read none.txt", ExitCode::missing_file, "none.txt");
  write_text(path, run_program({"graph", "mlp", "--batch", "16", "--training"}).output);
  plan_refused(
      {}, "[plan] a training graph cannot be priced, got " + path + " with backward nodes, expected a forward graph",
      ExitCode::usage, path);
  write_text(path, text.substr(0, text.size() / 2));
  plan_refused({}, "(in " + path + ")", ExitCode::usage, path);
}

TEST(PlanErrors, Numbers) {
  for (const char* memory : {"-1", "0", "inf", "nan", "1e300"})
    plan_refused({"--memory", memory}, "[--memory] out of range, got ");
  plan_refused({"--memory", "0"}, "[--memory] out of range, got 0, expected GiB above 0, at most 1e+09");
  plan_refused({"--batch", "0"}, "[--batch] ");
  plan_refused({"--batch", "-3"}, "[--batch] out of range, got -3, expected 1 to");
  plan_refused({"--batch", "131101", "--cluster", "v100"},
               "[--batch] the rows do not divide into 2 to 65536 micro-batches, got 131101, expected 131072");
  plan_refused({"--dtype", "f8"}, "[--dtype] unknown name, got 'f8', expected one of f32 f64 bf16 f16");
  plan_refused({"--memory", "0.0001", "--cluster", "v100"}, "[plan] nothing fits; at best ");
  plan_refused({"--out", "/none/there.txt", "--cluster", "v100"}, "[--out] cannot write /none/there.txt",
               ExitCode::cannot_write);
}

// A file that cannot be written is known before a search that takes a minute, and then no other is written.
TEST(PlanErrors, FilesAreCheckedFirst) {
  const TempDir folder;
  const std::string path = (folder.path() / "plan.txt").string(), other = (folder.path() / "no" / "a.html").string();
  const std::string large = "gpt:layers=96,hidden=12288,heads=96,seq=2048,vocab=51200";
  plan_refused({"--cluster", "a100-80:128", "--batch", "1536", "--memory", "1", "--out", path, "--html", other},
               "error: [--html] cannot write " + other + ": No such file or directory", ExitCode::cannot_write, large);
  EXPECT_FALSE(std::filesystem::exists(path));
  plan_refused({"--out", path, "--html", path},
               "[--html] the same file as --out, got " + path + ", expected another file");
  const std::string cluster = (folder.path() / "v100.toml").string(), before = run_program({"cluster", "v100"}).output;
  write_text(cluster, before);
  plan_refused({"--cluster", cluster, "--out", cluster}, "[--out] the same file as --cluster, got " + cluster);
  EXPECT_EQ(read_text(cluster), before);
}

/// A plan on 4 ranks, as a file.
class BadPlans : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(run_program({"plan", "gpt:layers=4,hidden=64,heads=4", "--cluster", "cpu", "--fixed",
                           "data=2,tensor=2,micro_batch=4", "--out", path()})
                  .exit_code,
              0);
    text_ = read_text(path());
  }
  std::string path(const std::string& name = "plan.txt") const { return (folder_.path() / name).string(); }

  /// Training with the text changed is refused, by [FILE:LINE] or otherwise.
  void refused_with(const std::string& from, const std::string& to, const std::string& message) const {
    SCOPED_TRACE(to);
    std::string text = text_;
    ASSERT_NE(text.find(from), std::string::npos) << from << " in " << text;
    text.replace(text.find(from), from.size(), to);
    write_text(path("bad.txt"), text);
    for (const PlanWords& words : {PlanWords{"train", "--plan", path("bad.txt"), "--steps", "1"},
                                   PlanWords{"schedule", "--plan", path("bad.txt")}}) {
      expect_refusal(words, ExitCode::usage, {message});
    }
  }
  using PlanWords = std::vector<std::string>;

  const TempDir folder_;
  std::string text_;
};

TEST_F(BadPlans, AreRefusedWithTheLine) {
  refused_with("partita training plan 1", "partita training plan 2",
               "bad.txt:1] not a training plan of this version, got 'partita training plan 2', expected 'partita "
               "training plan 1'");
  refused_with("end\n", "", "the text ends too early, got '', expected 'end' as the last line");
  refused_with("batch 32", "batch many", "bad.txt:3] bad number, got 'many', expected 1 to ");
  refused_with(
      "node net/embedding v={tensor} A={data}", "node net/embeding v={tensor}",
      "unknown node, got 'net/embeding', expected one of the 74 nodes of graph gpt, did you mean 'net/embedding'?");
  refused_with("node net/embedding v={tensor} A={data}", "node net/h/7..9/add A={data}",
               "unknown node, got 'net/h/7..9/add', expected one of the 74 nodes of graph gpt");
  refused_with("node net/embedding v={tensor} A={data}", "node net/embedding q={tensor}",
               "unknown factor, got 'q={tensor}', expected factor={axes} of ");
  refused_with("node net/embedding v={tensor} A={data}", "node net/embedding v={tensors}",
               "bad.txt:14] [mesh] unknown axis, got 'tensors', expected one of data tensor, did you mean 'tensor'?");
  refused_with("node net/embedding v={tensor} A={data}", "node net/embedding v={tensor} A={tensor}",
               "illegal cut of net/embedding: ");
  refused_with("node net/embedding v={tensor} A={data}", "node net/embedding v={tensor}\nnode net/* v={tensor}",
               "a node is named twice, got 'net/*', expected one line for net/embedding");
  refused_with("input %tokens [32,", "input %tokens [16,", "other sizes, got '%tokens [16,");
  refused_with("input %tokens", "input %token",
               "unknown input, got '%token', expected one of graph gpt, did you mean '%tokens'?");
}

TEST_F(BadPlans, OfOtherTrainings) {
  const auto refused = [&](const PlanWords& more, const std::string& message, ExitCode code = ExitCode::usage) {
    PlanWords words{"train"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--plan", path(), "--steps", "1"});
    expect_refusal(words, code, {message});
  };
  refused({"mlp"}, "plan.txt is for another network, got mlp, expected gpt:layers=4,hidden=64,heads=4: without %h.0.");
  refused({"gpt:layers=5,hidden=64,heads=4"}, "expected gpt:layers=4,hidden=64,heads=4: with also %h.4.attn.k.weight");
  refused({"gpt:layers=4,hidden=32,heads=4"}, "with %h.0.attn.k.weight [32,32] instead of [64,64], ");
  refused({"--batch", "64"}, "[--batch] ");
  refused({"--batch", "64"}, "plan.txt was made for another value, got 64, expected 32, or another plan");
  refused({"--ranks", "8"}, "plan.txt was made for another value, got 8, expected 4, or another plan");
  refused({"--shard", "net/embedding=((1,1),(1))"}, "[--shard] ");
  expect_refusal({"train", "--plan", path("none.txt")}, ExitCode::missing_file, {"[--plan] cannot read ", "none.txt"});
  // Another network of the same name: the fingerprint tells.
  refused_with("model gpt:layers=4,hidden=64,heads=4", "model gpt:layers=3,hidden=64,heads=4",
               "bad.txt:8] the plan is for another network, got 57 nodes and ");
  refused_with("batch 32", "batch 64", "with other names or sizes (without this line only the cuts are compared)");
  refused_with("batch 32", "batch 34",
               "bad.txt:9] the rows of a rank do not divide into micro-batches, got 17 rows for "
               "micro_batch=4, expected micro_batch=1");
}

TEST_F(BadPlans, CannotBeExplained) {
  expect_refusal({"explain", path(), "--op", "net/h/3/mlp/fc/matmull"}, ExitCode::usage,
                 {"[--op] unknown node, got 'net/h/3/mlp/fc/matmull'", "did you mean 'net/h/3/mlp/fc/matmul'?"});
  expect_refusal({"explain", path(), "--free"}, ExitCode::usage, {"[--free] has no effect, got no --op"});
  expect_refusal({"explain", path("none.txt")}, ExitCode::missing_file, {"none.txt"});
  expect_refusal({"diff", path(), path("none.txt")}, ExitCode::missing_file, {"none.txt"});
  expect_refusal({"explain", path(), "--html", "/none/there.html"}, ExitCode::cannot_write,
                 {"error: [--html] cannot write /none/there.html: No such file"});
  expect_refusal({"explain", path(), "--html", path()}, ExitCode::usage, {"[--html] the same file as PLAN"});
  std::string text = text_;
  text.erase(text.find("model gpt"), text.find("batch") - text.find("model gpt"));
  write_text(path("bad.txt"), text);
  expect_refusal({"explain", path("bad.txt")}, ExitCode::usage,
                 {"bad.txt] the plan does not say what it is for, got no line 'model', expected one"});
}

// Prices refuse every line of a plan that a training refuses.
TEST_F(BadPlans, AreRefusedByEveryCommand) {
  ASSERT_EQ(run_program({"plan", "gpt:layers=4,hidden=64,heads=4", "--cluster", "cpu", "--fixed",
                         "data=2,tensor=4,micro_batch=4", "--out", path("plan4.txt")})
                .exit_code,
            0);
  const std::string text = read_text(path("plan4.txt")),
                    line = "node net/h/0..3/mlp/fc/matmul A={data} j={tensor.0,tensor.1}";
  const auto refused = [&](const std::string& to, const std::string& message) {
    SCOPED_TRACE(to);
    std::string changed = text;
    ASSERT_NE(text.find(line), std::string::npos) << text;
    changed.replace(changed.find(line), line.size(), to);
    write_text(path("bad.txt"), changed);
    for (const PlanWords& words :
         {PlanWords{"explain", path("bad.txt")}, PlanWords{"explain", path("bad.txt"), "--op", "net/embedding"},
          PlanWords{"diff", path("plan4.txt"), path("bad.txt")},
          PlanWords{"train", "--plan", path("bad.txt"), "--steps", "1"}}) {
      expect_refusal(words, ExitCode::usage, {message});
    }
  };
  const std::string node = "node net/h/0..3/mlp/fc/matmul ";
  refused(node + "j={foo}", "[mesh] unknown axis, got 'foo', expected one of data tensor.0 tensor.1");
  refused(node + "j={tensor.2}", "unknown axis, got 'tensor.2', expected one of data tensor.0 tensor.1");
  refused(node + "A={data} j={tensor", "unexpected text, got ''");
  refused(node + "q={tensor.0}", "unknown factor, got 'q={tensor.0}'");
  refused("node net/h/0..3/mlp/fg/matmul j={tensor.0}", "unknown node, got 'net/h/0..3/mlp/fg/matmul'");
  refused("gradient net/h/0..3/mlp/fg/matmul j={tensor.0}", "unknown node, got 'net/h/0..3/mlp/fg/matmul'");
  refused(node + "j={tensor.0}\n" + node + "k={tensor.1}", "a node is named twice, got 'net/h/0..3/mlp/fc/matmul'");
}

TEST_F(BadPlans, OfOtherTypes) {
  const auto warnings_of = [&](const std::string& dtype, const PlanWords& more) {
    std::string text = text_;
    text.replace(text.find("dtype f32"), 9, "dtype " + dtype);
    write_text(path("other.txt"), text);
    PlanWords words{"train", "--plan", path("other.txt"), "--steps", "1", "--no-eval"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run_program(words);
    EXPECT_EQ(outcome.exit_code, 0);
    return outcome;
  };
  EXPECT_FALSE(has_warning(warnings_of("f32", {}), "another type"));
  EXPECT_FALSE(has_warning(warnings_of("f64", {}), "another type"));
  const std::string other = "other.txt:4] the plan is for another type than the training, got ";
  EXPECT_TRUE(has_warning(warnings_of("bf16", {}), other + "bf16, expected f32: it predicts other steps"));
  EXPECT_TRUE(has_warning(warnings_of("f32", {"--dtype", "f64"}), other + "f32, expected f64"));
  refused_with("dtype f32", "dtype i32", "bad.txt:4] unknown type, got 'i32', expected f32, f64, bf16 or f16");
}

TEST_F(BadPlans, NothingIsLeftHalfWritten) {
  const std::string before = read_text(path());
  expect_refusal({"plan", "mlp", "--memory", "0.0001", "--pin", "tensor=1", "--out", path()}, ExitCode::usage,
                 {"[plan] nothing fits"});
  EXPECT_EQ(read_text(path()), before);
}

TEST(PlanErrors, PlansForTheRanksAtHand) {
  expect_refusal({"train", "gpt", "--plan", "auto:h101", "--steps", "1"}, ExitCode::usage,
                 {"[cluster] unknown preset, got 'h101', expected one of "});
  expect_refusal({"train", "--plan", "auto", "--steps", "1"}, ExitCode::usage, {"[train] no model, got nothing"});
  expect_refusal({"train", "mlp", "--plan", "auto", "--ranks", "2", "--zero", "3", "--steps", "1"}, ExitCode::usage,
                 {"[--zero] auto was made for another value, got 3, expected "});
}

TEST(PlanErrors, MemoryThatIsMissing) {
  const std::string model = "gpt:layers=48,hidden=6144,heads=48,seq=2048,vocab=51200";
  plan_refused({"--cluster", "v100", "--batch", "64", "--dtype", "f16"}, "[plan] nothing fits; at best",
               ExitCode::usage, model);
  plan_refused({"--cluster", "v100", "--batch", "64", "--dtype", "f16"}, "optimizer ", ExitCode::usage, model);
  plan_refused({"--cluster", "v100", "--batch", "64", "--dtype", "f16"}, "It would fit with --memory ", ExitCode::usage,
               model);
  plan_refused({"--cluster", "v100:8", "--batch", "64", "--dtype", "f16", "--pin", "zero=0,tensor=1,pipeline=1"},
               "It would fit with no ", ExitCode::usage, model);
  plan_refused({"--cluster", "v100:1@megatron-core", "--batch", "64", "--dtype", "f16"},
               "or with --cluster v100:2@megatron-core", ExitCode::usage, model);
  plan_refused({"--cluster", "v100", "--pin", "cuts=searched,squeeze=0,micro_batch=8", "--memory", "0.02"},
               "or with no cuts in --pin: data=", ExitCode::usage, "gpt:layers=4,hidden=256,heads=4");
}

}  // namespace
}  // namespace partita

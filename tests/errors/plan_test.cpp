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

TEST(PlanErrors, Configurations) {
  plan_refused({"--cluster", "v100", "--fixed", "data=16"},
               "[--fixed] more ranks than the cluster has, got 16, expected at most 8 of v100");
  plan_refused({"--cluster", "v100", "--fixed", "data=5"},
               "[--fixed] the batch does not divide, got 32 rows for data=5, expected data=4");
  plan_refused({"--cluster", "v100", "--fixed", "tensors=5"}, "did you mean 'tensor'?");
  plan_refused({"--cluster", "v100", "--fixed", "pipeline=8,data=1,interleave=4"},
               "[--fixed] more stages than layers, got 32, expected at most 6");
  plan_refused({"--cluster", "v100", "--fixed", "tensor=8"}, "[--tensor-parallel] nothing to cut in graph mlp",
               ExitCode::usage, "mlp");
  plan_refused({"--cluster", "v100", "--fixed", "data=8", "--pin", "zero=1"},
               "[--pin] of no effect, got --fixed, which leaves nothing open, expected one of both");
  plan_refused({"--cluster", "v100", "--pin", "data=7"},
               "[--pin] nothing is left to choose from, got 8 ranks and 32 rows");
}

TEST(PlanErrors, Numbers) {
  plan_refused({"--memory", "-1"}, "[--memory] out of range, got -1, expected GiB above 0");
  plan_refused({"--batch", "-3"}, "[--batch] out of range, got -3, expected 1 to");
  plan_refused({"--dtype", "f8"}, "[--dtype] unknown name, got 'f8', expected one of f32 f64 bf16 f16");
  plan_refused({"--memory", "0.0001", "--cluster", "v100"},
               "[plan] nothing fits, got 0.0001 GiB of each device, expected --memory ");
  plan_refused({"--out", "/none/there.txt", "--cluster", "v100"}, "[--out] cannot write /none/there.txt",
               ExitCode::cannot_write);
}

}  // namespace
}  // namespace partita

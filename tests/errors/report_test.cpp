// Recorded trainings and sweeps that cannot be read or run.

#include <filesystem>

#include "support/program.h"
#include "training/runs/test_runs.h"

namespace partita {
namespace {

TEST(ReportErrors, RunsThatAreNotThere) {
  const TempDir folder;
  const std::string none = (folder.path() / "none").string(), empty = folder.path().string();
  for (const std::vector<std::string>& words : {std::vector<std::string>{"report", none}, {"compare", none, none}}) {
    expect_refusal(words, ExitCode::missing_file, {"[report] cannot read " + none, "expected a run or a log of one"});
  }
  expect_refusal({"report", empty}, ExitCode::missing_file,
                 {"[report] no run in this folder, got " + empty + " without log.jsonl, expected a folder of --run"});
}

TEST(ReportErrors, GarbageInALog) {
  const TempDir folder;
  const std::string log = (folder.path() / "log.jsonl").string();
  write_run_file(log, log_text(3) + "garbage\n" + log_text(1));
  expect_refusal({"report", log}, ExitCode::bad_input,
                 {"[report] " + log + ":4: not a line of a log, got 'garbage', expected a JSON object"});
  EXPECT_FALSE(std::filesystem::exists(log + ".html"));
  write_run_file(log, log_text(3) + R"({"step":4,"epo)");
  const Outcome outcome = run_program({"report", log});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.output.find("line 4 of log.jsonl is unfinished and was left out"), std::string::npos)
      << outcome.output;
  EXPECT_TRUE(std::filesystem::exists(log + ".html"));
}

TEST(ReportErrors, PagesThatCannotBeWritten) {
  const TempDir folder;
  const std::string log = (folder.path() / "log.jsonl").string();
  write_run_file(log, log_text(3));
  expect_refusal({"report", log, "--out", "/no/such/folder/a.html"}, ExitCode::cannot_write, {"[--out] cannot write"});
  expect_refusal({"report", log, "--out", log}, ExitCode::usage, {"[--out] the same file as RUN"});
  EXPECT_EQ(read_text(log), log_text(3));
  expect_refusal({"compare", log}, ExitCode::usage, {"[compare] bad number of runs, got 1, expected 2 to 6"});
  expect_refusal({"compare", log, log, log, log, log, log, log}, ExitCode::usage, {"got 7, expected 2 to 6"});
}

TEST(ReportErrors, SweepsThatAreNotThereOrBad) {
  const TempDir folder;
  const std::string file = (folder.path() / "sweep.toml").string(), out = (folder.path() / "out").string();
  expect_refusal({"sweep", file, "--out", out}, ExitCode::missing_file, {"[sweep] cannot read " + file});
  write_run_file(file, "model = \"mlp\"\n[keys]\ntraining.batchs = [1]\n");
  expect_refusal({"sweep", file, "--out", out}, ExitCode::bad_input,
                 {"unknown key, got 'training.batchs'", "did you mean 'training.batch'? (in " + file + ":3)"});
  EXPECT_FALSE(std::filesystem::exists(out));
  write_run_file(file, "model = \"mlp\"\n[keys]\ntraining.batch = [8]\n");
  expect_refusal({"sweep", file}, ExitCode::usage, {"[--out] no folder for the trials, expected --out DIR, or --list"});
  expect_refusal({"sweep", file, "--out", "/dev/null/out"}, ExitCode::cannot_write, {"[sweep] cannot write"});
}

TEST(ReportErrors, AFolderThatHoldsARunIsKept) {
  const TempDir folder;
  const std::string run = (folder.path() / "run").string();
  write_run_file(run + "/log.jsonl", log_text(3));
  expect_refusal({"train", "mlp:hidden=4", "--steps", "1", "--run", run}, ExitCode::usage,
                 {"[--run] this folder holds a run already, got " + run, "expected a new folder, or --resume"});
  EXPECT_EQ(read_text(run + "/log.jsonl"), log_text(3));
  expect_refusal({"train", "mlp:hidden=4", "--steps", "1", "--run", "/dev/null/run"}, ExitCode::cannot_write,
                 {"[run] cannot write /dev/null/run"});
  expect_refusal({"train", "mlp:hidden=4", "--steps", "1", "--tensorboard", "/dev/null/events"}, ExitCode::cannot_write,
                 {"[tensorboard] cannot write /dev/null/events"});
}

}  // namespace
}  // namespace partita

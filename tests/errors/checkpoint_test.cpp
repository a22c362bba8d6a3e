// Checkpoints that cannot be written, and those that are not what they should be.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "support/program.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSmallModel = "mlp:hidden=4";

/// A folder with checkpoints of steps 2 and 4.
struct Saved {
  Saved() : run((folder.path() / "run").string()) {
    const Outcome outcome =
        run_program({"train", kSmallModel, "--ranks", "2", "--threads", "1", "--steps", "4", "--schedule-steps", "100",
                     "--no-eval", "--checkpoint", run, "--checkpoint-every", "2"});
    EXPECT_EQ(outcome.exit_code, 0) << fmt::format("{}", fmt::join(outcome.lines, "\n"));
  }
  fs::path in(const std::string& name) const { return fs::path(run) / name; }
  std::vector<std::string> resume(const std::string& path) const {
    return {"train", kSmallModel, "--steps", "6", "--schedule-steps", "100", "--no-eval", "--resume", path};
  }

  TempDir folder;
  std::string run;
};

void flip_byte(const fs::path& path, size_t place) {
  std::string bytes = read_text(path);
  bytes.at(place) = static_cast<char>(bytes.at(place) ^ 1);
  write_text(path, bytes);
}

// A checkpoint that is named is taken or refused; of a folder the newest that is whole is taken, and the others are
// told.
TEST(CheckpointErrors, DamagedTensorsAreNamed) {
  const Saved saved;
  const fs::path file = saved.in("step_4") / "rank_1.safetensors";
  flip_byte(file, read_text(file).size() - 3);
  for (const auto& words : {saved.resume(saved.in("step_4").string()), {"checkpoint", "verify", saved.run}}) {
    expect_refusal(words, ExitCode::bad_input, {"[checkpoint]", file.string(), "tensor '", "is damaged in"});
  }
  for (const char* ranks : {"1", "4"}) {
    std::vector<std::string> words = saved.resume(saved.run);
    words.insert(words.end(), {"--ranks", ranks, "--threads", "1"});
    const Outcome outcome = run_program(words);
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_TRUE(has_warning(outcome, "step_4 is not used: [checkpoint] " + file.string() + ": tensor '"));
  }
  fs::remove(file);
  expect_refusal(saved.resume(saved.in("step_4").string()), ExitCode::bad_input,
                 {file.string(), "a file of the checkpoint cannot be opened", "(for tensor '"});
  fs::remove(saved.in("step_2") / "rank_0.safetensors");
  const Outcome none = run_program(saved.resume(saved.run));
  EXPECT_EQ(none.exit_code, static_cast<int>(ExitCode::bad_input));
  EXPECT_TRUE(has_warning(none, "step_4 is not used"));
  ASSERT_EQ(none.lines.size(), 1u);
  EXPECT_NE(none.lines[0].find("step_2/rank_0.safetensors"), std::string::npos) << none.lines[0];
}

TEST(CheckpointErrors, ADamagedManifestIsToldAndTheOneBeforeIsTaken) {
  const Saved saved;
  flip_byte(saved.in("step_4") / "manifest.json", 200);
  const Outcome outcome = run_program(saved.resume(saved.run));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(has_warning(outcome, "step_4 is not used: [checkpoint]"));
  EXPECT_TRUE(has_warning(outcome, "the manifest is damaged"));
  expect_refusal(saved.resume((saved.in("step_4")).string()), ExitCode::bad_input, {"the manifest is damaged"});
  expect_refusal({"checkpoint", "verify", saved.run}, ExitCode::bad_input, {"the manifest is damaged"});
}

// A training whose saved checkpoints cannot be read does not start anew by itself.
TEST(CheckpointErrors, DamagedManifestsAloneAreRefused) {
  const Saved saved;
  const std::vector<std::string> latest{"train", kSmallModel, "--steps",  "2",           "--threads",
                                        "1",     "--no-eval", "--resume", "--checkpoint"};
  const auto with_latest = [&](const std::string& run) {
    std::vector<std::string> words = latest;
    words.insert(words.end() - 1, "latest");
    words.push_back(run);
    return words;
  };
  flip_byte(saved.in("step_2") / "manifest.json", 200);
  write_text(saved.in("step_4") / "manifest.json", "");
  const std::string before = read_text(saved.in("step_2") / "manifest.json");
  for (const auto& words : {with_latest(saved.run),
                            saved.resume(saved.run),
                            {"eval", kSmallModel, "--load", saved.run},
                            {"checkpoint", "merge", saved.run, "--out", saved.run + ".st"}}) {
    expect_refusal(words, ExitCode::bad_input,
                   {"[checkpoint] no complete checkpoint in " + saved.run + ", got 2 damaged", "step_4/manifest.json",
                    "expected one that is complete, or a folder without checkpoints"});
  }
  EXPECT_EQ(read_text(saved.in("step_2") / "manifest.json"), before) << "nothing is written";
  // What was never whole is no loss.
  for (const char* name : {"step_2", "step_4"}) fs::remove(saved.in(name) / "manifest.json");
  expect_refusal(saved.resume(saved.run), ExitCode::missing_file, {"no complete checkpoint in " + saved.run});
  const TempDir empty;
  fs::create_directories(empty.path() / ".step_2.tmp");
  write_text(empty.path() / ".step_2.tmp" / "manifest.json", "{");
  for (const std::string& run : {saved.run, empty.path().string(), (empty.path() / "new").string()}) {
    const Outcome begins = run_program(with_latest(run));
    EXPECT_EQ(begins.exit_code, 0) << run << fmt::format("{}", fmt::join(begins.lines, "\n"));
    EXPECT_NE(begins.output.find("no checkpoint in " + run + " yet: the training begins"), std::string::npos);
    EXPECT_TRUE(fs::exists(run + "/step_2/manifest.json"));
  }
}

TEST(CheckpointErrors, WhatIsNoCheckpoint) {
  const TempDir folder;
  const std::string path = folder.path().string();
  expect_refusal({"train", kSmallModel, "--resume", path}, ExitCode::missing_file,
                 {"[resume] no complete checkpoint in"});
  expect_refusal({"train", kSmallModel, "--resume", path + "/none"}, ExitCode::missing_file,
                 {"[resume] no checkpoint " + path + "/none: no such file or folder"});
  expect_refusal({"checkpoint", "verify", path}, ExitCode::missing_file, {"no checkpoint in " + path});
  expect_refusal({"checkpoint", "list", path + "/none"}, ExitCode::missing_file, {"no folder " + path + "/none"});
  expect_refusal({"checkpoint", "merge", path, "--out", path + "/w"}, ExitCode::missing_file,
                 {"no complete checkpoint"});
  expect_refusal({"checkpoint"}, ExitCode::usage, {"[checkpoint]"});
  expect_refusal({"checkpoint", "lst", path}, ExitCode::usage, {"[checkpoint]"});
  expect_refusal({"checkpoint", "merge", path, "--ouut", "x"}, ExitCode::usage, {"--out"});
  expect_refusal({"train", kSmallModel, "--resume", "latest"}, ExitCode::usage, {"[--resume] no folder to search"});
  for (const auto& [flag, value] : {std::pair{"--keep", "3"},
                                    {"--checkpoint-seconds", "3"},
                                    {"--checkpoint-async", "off"},
                                    {"--checkpoint-errors", "stop"}}) {
    expect_refusal({"train", kSmallModel, flag, value}, ExitCode::usage,
                   {fmt::format("[{}] has no effect, got no --checkpoint", flag)});
  }
  expect_refusal({"train", kSmallModel, "--checkpoint", "c", "--keep", "-1"}, ExitCode::usage, {"[--keep]", "got -1"});
  expect_refusal({"train", kSmallModel, "--checkpoint", "c", "--checkpoint-async", "maybe"}, ExitCode::usage,
                 {"[--checkpoint-async]", "maybe"});
}

TEST(CheckpointErrors, OfFormsThatDoNotFit) {
  const Saved saved;
  const std::string weights = (saved.folder.path() / "w").string();
  ASSERT_EQ(run_program({"checkpoint", "merge", saved.run, "--out", weights}).exit_code, 0);
  expect_refusal({"checkpoint", "split", weights, "--out", weights + "s", "--ranks", "2"}, ExitCode::usage,
                 {"has only weights, expected the state of a training"});
  expect_refusal({"checkpoint", "merge", weights, "--out", weights + "s", "--all"}, ExitCode::usage,
                 {"[--all]", "has no state of a training"});
  expect_refusal({"checkpoint", "convert", saved.run, "--out", weights + "s", "--dtype", "i64"}, ExitCode::usage,
                 {"[--dtype] not a floating-point type, got 'i64'"});
  const std::vector<std::string> split{"checkpoint", "split", saved.run, "--out", weights + "s"};
  const auto refuse_split = [&](std::vector<std::string> words, ExitCode code, const std::vector<std::string>& parts) {
    words.insert(words.begin(), split.begin(), split.end());
    expect_refusal(words, code, parts);
  };
  refuse_split({"--ranks", "0"}, ExitCode::usage, {"[--ranks] out of range, got 0"});
  refuse_split({}, ExitCode::usage,
               {"[split] the target is unclear, got neither, expected one of --ranks N and --plan FILE"});
  refuse_split({"--ranks", "2", "--plan", "p"}, ExitCode::usage, {"[split] the target is unclear, got both"});
  refuse_split({"--plan", weights + "none"}, ExitCode::missing_file, {"[--plan] cannot read"});
  const std::string plan = (saved.folder.path() / "plan").string();
  write_text(plan, "partita training plan 1\nmodel mlp:hidden=5\nbatch 16\nranks 2\nconfiguration data=2\nend\n");
  EXPECT_EQ(run_program({"checkpoint", "split", saved.run, "--plan", plan, "--out", weights + "t"}).exit_code, 0)
      << "the checkpoint says of which model it is";
  write_text(plan,
             "partita training plan 1\nbatch 16\nranks 2\nconfiguration data=2,tensor=1\nnode net/fc9/matmul "
             "i={data}\nmesh data=2\nend\n");
  refuse_split({"--plan", plan}, ExitCode::usage, {plan + ":5]", "net/fc9/matmul"});
  expect_refusal({"checkpoint", "plan", weights}, ExitCode::bad_input, {"no plan, got one file"});
}

// A whole file has checksums, too.
TEST(CheckpointErrors, FlippedBitsOfWeights) {
  const Saved saved;
  const std::string weights = (saved.folder.path() / "w").string();
  ASSERT_EQ(run_program({"checkpoint", "merge", saved.run, "--out", weights}).exit_code, 0);
  flip_byte(weights, read_text(weights).size() - 2);
  expect_refusal({"eval", kSmallModel, "--load", weights}, ExitCode::bad_input, {weights, "tensor '", "is damaged"});
}

/// Limits files to `bytes` bytes: beyond that the disk is full.
std::function<void()> small_files(rlim_t bytes) {
  return [bytes] {
    const rlimit limit{bytes, bytes};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  };
}

TEST(CheckpointErrors, TheTrainingGoesOnWhereNothingCanBeWritten) {
  const Saved saved;
  const std::vector<std::string> train{"train",     kSmallModel,    "--steps", "8",
                                       "--no-eval", "--resume",     "latest",  "--schedule-steps",
                                       "100",       "--checkpoint", saved.run, "--checkpoint-every",
                                       "2"};
  const Outcome outcome = run_program(train, small_files(3000));
  EXPECT_EQ(outcome.exit_code, static_cast<int>(ExitCode::cannot_write));
  EXPECT_TRUE(has_warning(outcome, "File too large; the training continues without this checkpoint"));
  ASSERT_EQ(outcome.lines.size(), 1u);
  EXPECT_NE(outcome.lines[0].find("File too large"), std::string::npos) << outcome.lines[0];
  EXPECT_EQ(run_program({"checkpoint", "verify", saved.run}).exit_code, 0) << "older ones are whole";
  EXPECT_FALSE(fs::exists(saved.in("step_6")));
  std::vector<std::string> strict = train;
  strict.insert(strict.end(), {"--checkpoint-errors", "stop"});
  const Outcome stopped = run_program(strict, small_files(3000));
  EXPECT_EQ(stopped.exit_code, static_cast<int>(ExitCode::cannot_write));
  EXPECT_TRUE(stopped.warnings.empty() || !has_warning(stopped, "continues"));
}

/// Waits for a file of a training that runs meanwhile, and does something then.
void once_there(const fs::path& path, const std::function<void()>& act) {
  for (int i = 0; i < 5000 && !fs::exists(path); ++i) ::usleep(2000);
  EXPECT_TRUE(fs::exists(path));
  act();
}

// The folder is deleted: it is made again. A file is there instead: what cannot be written is told.
TEST(CheckpointErrors, FoldersThatGoAwayMeanwhile) {
  const TempDir folder;
  const fs::path run = folder.path() / "run", away = folder.path() / "away";
  const std::vector<std::string> train{"train",        kSmallModel,  "--threads",          "1", "--batch",   "24",
                                       "--steps",      "600",        "--epochs",           "9", "--no-eval", "--quiet",
                                       "--checkpoint", run.string(), "--checkpoint-every", "20"};
  Outcome outcome;
  std::thread deletes([&] {
    once_there(run / "step_60", [&] {
      fs::rename(run, away);
      fs::remove_all(away);
    });
  });
  outcome = run_program(train);
  deletes.join();
  EXPECT_EQ(outcome.exit_code, 0) << fmt::format("{}", fmt::join(outcome.lines, "\n"));
  EXPECT_TRUE(fs::exists(run / "step_600" / "manifest.json"));
  fs::remove_all(run);
  write_text(away, "text");
  std::thread replaces([&] {
    once_there(run / "step_60",
               [&] { EXPECT_EQ(::renameat2(AT_FDCWD, run.c_str(), AT_FDCWD, away.c_str(), RENAME_EXCHANGE), 0); });
  });
  outcome = run_program(train);
  replaces.join();
  EXPECT_EQ(outcome.exit_code, static_cast<int>(ExitCode::cannot_write));
  EXPECT_TRUE(has_warning(outcome, "it is not a folder; the training continues without this checkpoint"));
  EXPECT_EQ(run_program({"checkpoint", "verify", away.string()}).exit_code, 0) << "older ones are whole";
}

/// A disk of `kib` KiB. Only root can mount one.
class SmallDisk {
 public:
  SmallDisk(const fs::path& place, int kib) : place_(place.string()) {
    fs::create_directory(place);
    is_there_ = ::mount("none", place_.c_str(), "tmpfs", 0, fmt::format("size={}k", kib).c_str()) == 0;
  }
  ~SmallDisk() {
    if (is_there_) ::umount2(place_.c_str(), MNT_DETACH);
  }
  bool is_there() const { return is_there_; }

 private:
  std::string place_;
  bool is_there_ = false;
};

TEST(CheckpointErrors, AFullDisk) {
  const TempDir folder;
  const fs::path disk = folder.path() / "disk";
  const SmallDisk small(disk, 96);
  if (!small.is_there()) GTEST_SKIP() << "nothing can be mounted";
  const std::string run = (disk / "run").string();
  const Outcome outcome =
      run_program({"train", kSmallModel, "--steps", "12", "--no-eval", "--checkpoint", run, "--checkpoint-every", "2"});
  EXPECT_EQ(outcome.exit_code, static_cast<int>(ExitCode::cannot_write));
  EXPECT_TRUE(has_warning(outcome, "No space left on device; the training continues without this checkpoint"));
  const Outcome whole = run_program({"checkpoint", "verify", run});
  EXPECT_EQ(whole.exit_code, 0) << whole.output;
  EXPECT_NE(whole.output.find("step_2: "), std::string::npos) << "older ones are whole";
}

TEST(CheckpointErrors, FoldersThatCannotBeUsed) {
  const TempDir folder;
  const std::string file = (folder.path() / "file").string();
  write_text(file, "text");
  expect_refusal({"train", kSmallModel, "--checkpoint", file}, ExitCode::cannot_write,
                 {"[checkpoint] cannot write " + file, "it is not a folder"});
  expect_refusal({"train", kSmallModel, "--checkpoint", (folder.path() / "no" / "run").string()},
                 ExitCode::cannot_write, {"No such file or directory"});
}

// A closed pipe does not end a training.
TEST(CheckpointErrors, AClosedPipeUnderStdout) {
  const TempDir folder;
  const std::string run = (folder.path() / "run").string();
  const Outcome outcome = run_program(
      {"train", kSmallModel, "--steps", "3", "--no-eval", "--checkpoint", run, "--per-print-times", "1"}, [] {
        int ends[2];
        if (::pipe(ends) != 0) return;
        ::close(ends[0]);
        ::dup2(ends[1], STDOUT_FILENO);
      });
  EXPECT_EQ(outcome.signal, 0);
  EXPECT_EQ(outcome.exit_code, static_cast<int>(ExitCode::cannot_write));
  EXPECT_TRUE(fs::exists(run + "/step_3/manifest.json"));
}

}  // namespace
}  // namespace partita

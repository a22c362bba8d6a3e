// Trainings that are saved while they run, stopped by signals, killed, and gone on with; what is done to checkpoints.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "runtime/checkpoint/weights.h"
#include "support/places.h"
#include "support/program.h"

namespace partita {
namespace {

namespace fs = std::filesystem;
using CheckpointWords = std::vector<std::string>;

const CheckpointWords kTraining{"train", "mlp:hidden=48",    "--batch", "24", "--no-eval", "--threads",
                                "1",     "--schedule-steps", "1000"};

CheckpointWords with(CheckpointWords words, const CheckpointWords& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string lines_of(const Outcome& outcome) {
  return fmt::format("{}\n{}", outcome.output, fmt::join(outcome.lines, "\n"));
}

Outcome expect_ok(const CheckpointWords& words) {
  Outcome outcome = run_program(words);
  EXPECT_EQ(outcome.exit_code, 0) << lines_of(outcome);
  return outcome;
}

void expect_equal(const std::string& a, const std::string& b) {
  const Outcome outcome = expect_ok({"checkpoint", "diff", a, b});
  EXPECT_TRUE(outcome.output.starts_with("all ")) << outcome.output;
}

/// The steps of the whole checkpoints, in order.
std::vector<int64_t> steps_in(const fs::path& folder) {
  std::vector<int64_t> steps;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("step_")) steps.push_back(std::stoll(name.substr(5)));
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

/// A run of the program in the background.
class Running {
 public:
  Running(CheckpointWords words, const fs::path& output) {
    words.insert(words.begin(), kProgram);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    child_ = ::fork();
    if (child_ != 0) return;
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) ::signal(number, SIG_DFL);  // whatever a shell has ignored
    const int file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) ::dup2(file, stream);
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }
  pid_t process() const { return child_; }
  void signal(int number) const { ::kill(child_, number); }
  /// The status of its end; what takes more than a minute is killed.
  int wait() const {
    int status = 0;
    for (int i = 0; i < 6000; ++i) {
      if (::waitpid(child_, &status, WNOHANG) == child_) return status;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ::kill(child_, SIGKILL);
    ::waitpid(child_, &status, 0);
    return status;
  }

 private:
  pid_t child_ = 0;
};

template <class Condition>
bool wait_until(const Condition& condition) {
  for (int i = 0; i < 3000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(Checkpointing, GoesOnBitByBitOnTheSameRanks) {
  const TempDir folder;
  const std::string whole = (folder.path() / "whole").string(), part = (folder.path() / "part").string();
  for (const CheckpointWords& plan : {CheckpointWords{"--ranks", "1"},
                                      {"--ranks", "2", "--zero", "1", "--zero-threshold", "0"},
                                      {"--ranks", "4", "--stages", "2", "--micro-batches", "2"}}) {
    for (const std::string& path : {whole, part}) fs::remove_all(path);
    expect_ok(with(with(kTraining, plan), {"--steps", "9", "--checkpoint", whole}));
    expect_ok(with(with(kTraining, plan), {"--steps", "4", "--checkpoint", part, "--checkpoint-async", "off"}));
    expect_ok(with(with(kTraining, plan), {"--steps", "9", "--checkpoint", part, "--resume", "latest"}));
    EXPECT_EQ(steps_in(part), (std::vector<int64_t>{4, 9}));
    expect_equal(part, whole);
  }
}

TEST(Checkpointing, KeepsTheNewestAndSavesEveryFewSteps) {
  const TempDir folder;
  const std::string path = (folder.path() / "run").string();
  expect_ok(with(kTraining,
                 {"--ranks", "2", "--steps", "11", "--checkpoint", path, "--checkpoint-every", "2", "--keep", "3"}));
  EXPECT_EQ(steps_in(path), (std::vector<int64_t>{8, 10, 11}));
  const Outcome list = expect_ok({"checkpoint", "list", path});
  EXPECT_NE(list.output.find("step_11"), std::string::npos) << list.output;
  expect_ok({"checkpoint", "verify", path});
  fs::remove_all(path);
  expect_ok(with(kTraining, {"--steps", "200", "--checkpoint", path, "--checkpoint-seconds", "0.001", "--keep", "0",
                             "--checkpoint-async", "off"}));
  EXPECT_GT(steps_in(path).size(), 1u) << "not at the end alone";
}

// One file of whole tensors that rank 0 writes, and one file of a training, hold what the files of the ranks hold.
TEST(Checkpointing, FormsHoldTheSame) {
  const TempDir folder;
  const auto in = [&](const char* name) { return (folder.path() / name).string(); };
  const CheckpointWords train =
      with(kTraining, {"--ranks", "3", "--zero", "3", "--zero-threshold", "0", "--steps", "3"});
  expect_ok(with(train, {"--checkpoint", in("parts"), "--save", in("weights")}));
  expect_ok(with(train, {"--checkpoint", in("whole"), "--integrated-save"}));
  EXPECT_TRUE(fs::exists(in("parts") + "/step_3/rank_2.safetensors"));
  EXPECT_FALSE(fs::exists(in("whole") + "/step_3/rank_1.safetensors"));
  expect_equal(in("parts"), in("whole"));
  expect_ok({"checkpoint", "merge", in("parts"), "--out", in("merged")});
  expect_equal(in("merged"), in("weights"));
  expect_ok({"checkpoint", "merge", in("parts"), "--out", in("file"), "--all"});
  expect_equal(in("file"), in("parts"));
  expect_ok({"checkpoint", "split", in("file"), "--out", in("five"), "--ranks", "5"});
  EXPECT_TRUE(fs::exists(in("five") + "/step_3/rank_4.safetensors"));
  expect_equal(in("five"), in("whole"));
  expect_ok({"checkpoint", "convert", in("parts"), "--out", in("wide"), "--dtype", "f64"});
  expect_ok({"checkpoint", "convert", in("wide"), "--out", in("back"), "--dtype", "f32"});
  expect_equal(in("back"), in("parts"));
  const CheckpointWords go_on = with(kTraining, {"--steps", "5", "--resume"});
  for (const char* form : {"parts", "whole", "file", "five"}) {
    expect_ok(with(go_on, {in(form), "--save", in(fmt::format("after_{}", form).c_str())}));
    expect_equal(in("after_parts"), in(fmt::format("after_{}", form).c_str()));
  }
  expect_ok(with(go_on, {in("wide"), "--dtype", "f64", "--resume-with", "training.dtype", "--resume-with", "rows"}));
  EXPECT_EQ(run_program({"eval", "mlp:hidden=48", "--load", in("parts")}).output,
            run_program({"eval", "mlp:hidden=48", "--load", in("weights")}).output);
}

// Checkpoints of MindSpore: whatever the command writes to a file that is called .ckpt, and what MindSpore writes.
TEST(Checkpointing, FilesOfMindSpore) {
  const TempDir folder;
  const auto in = [&](const char* name) { return (folder.path() / name).string(); };
  expect_ok(with(kTraining, {"--steps", "3", "--checkpoint", in("run"), "--save", in("weights.ckpt")}));
  EXPECT_EQ(read_text(in("weights.ckpt"))[0], '\n');
  expect_ok({"checkpoint", "merge", in("run"), "--out", in("weights.safetensors")});
  expect_equal(in("weights.ckpt"), in("weights.safetensors"));
  expect_ok({"checkpoint", "convert", in("weights.ckpt"), "--out", in("there.safetensors")});
  expect_ok({"checkpoint", "convert", in("there.safetensors"), "--out", in("back.ckpt")});
  EXPECT_EQ(read_text(in("there.safetensors")).substr(8, 1), "{");
  expect_equal(in("back.ckpt"), in("weights.ckpt"));
  EXPECT_EQ(run_program({"eval", "mlp:hidden=48", "--load", in("back.ckpt")}).output,
            run_program({"eval", "mlp:hidden=48", "--load", in("weights.safetensors")}).output);
  // A whole training, in either format.
  expect_ok({"checkpoint", "convert", in("run"), "--out", in("all.ckpt")});
  expect_equal(in("all.ckpt"), in("run"));
  expect_ok(with(kTraining, {"--steps", "5", "--resume", in("all.ckpt"), "--save", in("a.ckpt")}));
  expect_ok(with(kTraining, {"--steps", "5", "--resume", in("run"), "--save", in("b.ckpt")}));
  expect_equal(in("a.ckpt"), in("b.ckpt"));
  expect_ok({"checkpoint", "convert", in("all.ckpt"), "--out", in("half.ckpt"), "--dtype", "bf16"});
  EXPECT_NE(expect_ok({"checkpoint", "diff", in("half.ckpt"), in("all.ckpt")}).output.find("bf16[10] instead of f32"),
            std::string::npos);
  expect_refusal({"checkpoint", "convert", in("weights.ckpt"), "--out", in("parts")}, ExitCode::usage,
                 {"[--out] ", "has only weights, got the folder ", "expected FILE.safetensors or FILE.ckpt"});
}

TEST(Checkpointing, FilesThatMindSporeWrote) {
  const TempDir folder;
  const std::string path = (folder.path() / "cell.ckpt").string(),
                    theirs = std::string(kSourceDir) + "/tests/mindspore/files/";
  expect_ok({"checkpoint", "verify", theirs + "adam.ckpt"});
  expect_refusal(with(kTraining, {"--load", theirs + "net.mindir", "--steps", "1"}), ExitCode::bad_input,
                 {"net.mindir: a MINDIR file, which holds a graph of MindSpore"});
  // The file is that of a cell that trains. It has the states of the optimizer, and numbers.
  expect_ok(with(kTraining, {"--steps", "1", "--save", path}));
  std::vector<std::pair<std::string, Array>> tensors;
  for (const auto& [name, array] : load_weights(path)) {
    tensors.emplace_back(name, array);
    tensors.emplace_back("moments." + name, array);
  }
  tensors.emplace_back("global_step", Array({1}, std::vector<int32_t>{1}));
  tensors.emplace_back("learning_rate", Array({}, std::vector<float>{0.1F}));
  save_weights(path, tensors);
  const Outcome loaded = expect_ok(with(kTraining, {"--steps", "1", "--load", path}));
  const std::string warning = fmt::format(
      "[load] {}: the optimizer begins anew, got {} of its states, such as 'moments.{}', "
      "expected weights: load_param_into_net in Python takes them",
      path, (tensors.size() - 2) / 2, tensors[0].first);
  EXPECT_NE(fmt::format("{}", fmt::join(loaded.warnings, "\n")).find(warning), std::string::npos);
}

// A checkpoint has the plan of its training, which runs it again; and its states go to the files of any other plan.
TEST(Checkpointing, PlansAreSavedAndSplitBy) {
  const TempDir folder;
  const auto in = [&](const char* name) { return (folder.path() / name).string(); };
  const std::string model = "gpt:layers=4,hidden=16,heads=2,seq=8";
  expect_ok({"plan", model, "--batch", "8", "--cluster", "cpu", "--fixed", "data=2,tensor=2,pipeline=2,micro_batch=2",
             "--out", in("plan")});
  const CheckpointWords train{"train",     model,     "--batch",          "8",   "--threads",   "1",
                              "--no-eval", "--quiet", "--schedule-steps", "100", "--checkpoint"};
  expect_ok(with(train, {in("planned"), "--plan", in("plan"), "--steps", "2"}));
  // Without the predictions, and the software whose steps they are.
  std::string given = read_text(in("plan"));
  const std::string software = "software partita\n";
  ASSERT_NE(given.find(software), std::string::npos);
  given.erase(given.find(software), software.size());
  const std::string saved = expect_ok({"checkpoint", "plan", in("planned")}).output;
  EXPECT_EQ(saved, given.substr(0, given.find("predicted ")) + "end\n");
  // A training without one has the text of what it did, too.
  expect_ok(with(train, {in("three"), "--ranks", "2", "--parallel", "auto", "--steps", "2"}));
  write_text(in("own"), expect_ok({"checkpoint", "plan", in("three")}).output);
  expect_ok(with(train, {in("again"), "--plan", in("own"), "--steps", "2"}));
  expect_equal(in("again"), in("three"));
  EXPECT_EQ(expect_ok({"checkpoint", "plan", in("again")}).output, read_text(in("own")));
  // What the ranks of the plan write by themselves.
  expect_ok({"checkpoint", "split", in("three"), "--plan", in("plan"), "--out", in("split")});
  expect_equal(in("split"), in("three"));
  for (const char* rank : {"0", "5", "7"}) {
    const auto file = [&](const char* run) {
      return read_text(folder.path() / run / "step_2" / fmt::format("rank_{}.safetensors", rank)).size();
    };
    EXPECT_EQ(file("split"), file("planned")) << rank;
  }
  EXPECT_EQ(expect_ok({"checkpoint", "plan", in("split")}).output, read_text(in("plan")));
  expect_ok(with(train, {in("split"), "--plan", in("plan"), "--steps", "3", "--resume", "latest"}));
}

TEST(Checkpointing, SignalsSaveAndEnd) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    const TempDir folder;
    const fs::path run = folder.path() / "run", output = folder.path() / "out", log = folder.path() / "log";
    const Running training(with(kTraining, {"--ranks", "2", "--epochs", "100000", "--checkpoint", run.string(),
                                            "--quiet", "--log", log.string()}),
                           output);
    ASSERT_TRUE(wait_until([&] { return fs::exists(log) && fs::file_size(log) > 0; })) << read_text(output);
    training.signal(SIGUSR1);
    ASSERT_TRUE(wait_until([&] { return !steps_in(run).empty(); })) << read_text(output);
    const int64_t saved = steps_in(run).back();
    training.signal(number);
    const int status = training.wait();
    ASSERT_TRUE(WIFEXITED(status)) << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 128 + number);
    EXPECT_GT(steps_in(run).back(), saved) << "saved again at the end";
    const std::string text = read_text(output);
    EXPECT_NE(text.find("interrupted: the training ends after step "), std::string::npos) << text;
    expect_ok({"checkpoint", "verify", run.string()});
  }
}

/// The text of a file; "" where there is none.
std::string text_in(const fs::path& path) { return fs::exists(path) ? read_text(path) : ""; }

// While a training runs, no other job writes what it writes; a job that only reads is let in.
TEST(Checkpointing, ASecondJobIsRefused) {
  const TempDir folder;
  const auto in = [&](const char* name) { return (folder.path() / name).string(); };
  fs::create_directory(in("run"));
  const CheckpointWords job = with(kTraining, {"--ranks", "2", "--quiet", "--epochs", "100000"});
  const Running first(
      with(job, {"--checkpoint", in("run"), "--checkpoint-every", "500", "--keep", "0", "--log", in("log"), "--log-dir",
                 in("logs"), "--trace", in("trace"), "--trace-steps", "10000", "--flight-record", in("record")}),
      in("out"));
  ASSERT_TRUE(wait_until([&] { return text_in(in("log")).find("\"step\":3,") != std::string::npos; }))
      << text_in(in("out"));
  ASSERT_TRUE(wait_until([&] { return steps_in(in("run")).size() > 1; })) << text_in(in("out"));
  const auto refused = [&](const CheckpointWords& words, const std::string& where, const std::string& path) {
    const std::string log = read_text(in("log")).substr(0, 400);
    expect_refusal(
        with(kTraining, with({"--steps", "2"}, words)), ExitCode::cannot_write,
        {fmt::format("[{}] another job writes to it, got {} held by process {} on ", where, path, first.process()),
         "expected another path, or that job to have ended"});
    EXPECT_EQ(read_text(in("log")).substr(0, 400), log) << "it is not cut";
  };
  refused({"--checkpoint", in("run")}, "checkpoint", in("run"));
  refused({"--log", in("log")}, "log", in("log"));
  refused({"--trace", in("trace")}, "trace", in("trace"));
  refused({"--log-dir", in("logs")}, "--log-dir", in("logs") + "/rank_0.log");
  refused({"--flight-record", in("record")}, "--flight-record", in("record"));
  expect_ok({"checkpoint", "list", in("run")});
  fs::copy(in("run") + "/step_500", in("step_500"), fs::copy_options::recursive);
  expect_ok({"checkpoint", "verify", in("step_500")});
  expect_ok({"eval", "mlp:hidden=48", "--load", in("run")});
  for (const CheckpointWords& writes : {CheckpointWords{"split", "--ranks", "2"}, {"convert", "--dtype", "f64"}}) {
    const CheckpointWords words{"checkpoint", writes[0], in("step_500"), "--out", in("run"), writes[1], writes[2]};
    expect_refusal(words, ExitCode::cannot_write, {"[checkpoint] another job writes to it, got " + in("run")});
  }
  first.signal(SIGTERM);
  EXPECT_EQ(WEXITSTATUS(first.wait()), 128 + SIGTERM);
  for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
    EXPECT_NE(entry.path().extension(), ".owner") << entry.path() << " is left";
  }
  expect_ok({"checkpoint", "verify", in("run")});
  expect_ok(with(kTraining, {"--steps", "2", "--checkpoint", in("run"), "--log", in("log"), "--log-dir", in("logs"),
                             "--trace", in("trace"), "--flight-record", in("record")}));
}

// A resumed job waits for the attempt before it to end, and continues from the checkpoint which that one saved.
TEST(Checkpointing, AResumedJobWaitsForTheOneBefore) {
  const TempDir folder;
  const std::string run = (folder.path() / "run").string(), log = (folder.path() / "log").string();
  const CheckpointWords job = with(kTraining, {"--quiet", "--epochs", "100000", "--checkpoint", run});
  const Running first(with(job, {"--log", log}), folder.path() / "first");
  ASSERT_TRUE(wait_until([&] { return !text_in(log).empty(); }));
  const Running second(with(job, {"--resume", "latest"}), folder.path() / "second");
  const auto output = [&] { return text_in(folder.path() / "second"); };
  ASSERT_TRUE(wait_until([&] { return output().find("[checkpoint] waits for " + run) != std::string::npos; }))
      << output();
  first.signal(SIGTERM);
  const int status = first.wait();
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM) << "status " << status << "\n" << text_in(folder.path() / "first");
  const std::vector<int64_t> saved = steps_in(run);
  ASSERT_EQ(saved.size(), 1u) << "at its end";
  ASSERT_TRUE(wait_until([&] {
    second.signal(SIGUSR1);
    return steps_in(run).size() > 1;
  })) << output();
  second.signal(SIGTERM);
  EXPECT_EQ(WEXITSTATUS(second.wait()), 128 + SIGTERM);
  EXPECT_GT(steps_in(run).back(), saved[0]);
  EXPECT_EQ(output().find("the training begins"), std::string::npos) << output();
}

// Every step is saved; whenever it is killed, the newest checkpoint is whole, and the end is that of no kill.
TEST(Checkpointing, KillsLoseNothing) {
  constexpr int kKills = 6, kSteps = 30;
  const TempDir folder;
  const std::string run = (folder.path() / "run").string(), whole = (folder.path() / "whole").string();
  const CheckpointWords train =
      with(kTraining, {"--ranks", "2", "--quiet", "--steps", std::to_string(kSteps), "--checkpoint-every", "1"});
  expect_ok(with(train, {"--checkpoint", whole}));
  for (int kill = 0; kill < kKills; ++kill) {
    const size_t before = steps_in(run).empty() ? 0 : static_cast<size_t>(steps_in(run).back());
    const Running training(with(train, {"--checkpoint", run, "--resume", "latest"}), folder.path() / "out");
    ASSERT_TRUE(wait_until([&] {
      const auto steps = steps_in(run);
      // On a busy machine an earlier training may have ended before it was killed.
      return !steps.empty() && static_cast<size_t>(steps.back()) >= std::min<size_t>(before + 2, kSteps);
    })) << read_text(folder.path() / "out");
    std::this_thread::sleep_for(std::chrono::microseconds(700 * kill));
    training.signal(SIGKILL);
    training.wait();
    expect_ok({"checkpoint", "verify", run});
  }
  expect_ok(with(train, {"--checkpoint", run, "--resume", "latest"}));
  expect_equal(run, whole);
}

}  // namespace
}  // namespace partita

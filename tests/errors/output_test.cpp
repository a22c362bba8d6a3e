// Logs and streams that cannot be written: a run goes on and says so.

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "support/places.h"
#include "support/program.h"

namespace partita {
namespace {

std::vector<std::string> train_to(const std::filesystem::path& weights, const std::vector<std::string>& more) {
  std::vector<std::string> words{"train", "mlp:hidden=4", "--steps",       "3", "--per-print-times",
                                 "1",     "--save",       weights.string()};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Expects that a training with these flags ends well, prints all, saves, and warns once, of `text`.
void expect_one_warning(const TempDir& folder, const std::vector<std::string>& flags, const std::string& text) {
  const std::filesystem::path weights = folder.path() / "weights";
  const Outcome outcome = run_program(train_to(weights, flags));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(outcome.lines.empty()) << outcome.lines[0];
  ASSERT_EQ(outcome.warnings.size(), 1u);
  EXPECT_TRUE(has_warning(outcome, text)) << outcome.warnings[0];
  EXPECT_NE(outcome.output.find("epoch: 1 step: 3, loss is"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("test accuracy"), std::string::npos) << outcome.output;
  EXPECT_TRUE(std::filesystem::exists(weights));
}

TEST(OutputErrors, AFullDiskUnderTheLog) {
  expect_one_warning(TempDir(), {"--log", "/dev/full"},
                     "[log] cannot write /dev/full: No space left on device; the training continues without it");
}

TEST(OutputErrors, AFullDiskUnderTheLogsOfRanks) {
  const TempDir folder;
  std::filesystem::create_symlink("/dev/full", folder.path() / "rank_0.log");
  expect_one_warning(folder, {"--log-dir", folder.path().string()},
                     "rank_0.log: No space left on device; the run continues");
}

TEST(OutputErrors, ClosedStdoutIsReportedAndStaysOutOfFiles) {
  const TempDir folder;
  const std::filesystem::path weights = folder.path() / "weights", log = folder.path() / "log";
  const Outcome outcome = run_program(train_to(weights, {"--log", log.string()}), [] { ::close(STDOUT_FILENO); });
  EXPECT_EQ(outcome.exit_code, static_cast<int>(ExitCode::cannot_write));
  ASSERT_EQ(outcome.lines.size(), 1u);
  EXPECT_EQ(outcome.lines[0], "partita: error: [output] cannot write to stdout");
  EXPECT_TRUE(std::filesystem::exists(weights));
  std::istringstream lines(read_text(log));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_TRUE(line.starts_with("{\"step\":")) << line;
  EXPECT_EQ(count, 3);
}

TEST(OutputErrors, AReaderThatLeavesIsNoMistake) {
  const Outcome outcome = run_program({"ops"}, [] {
    int ends[2];
    if (::pipe(ends) != 0) ::_exit(1);
    ::close(ends[0]);
    ::dup2(ends[1], STDOUT_FILENO);
  });
  EXPECT_EQ(outcome.exit_code, static_cast<int>(ExitCode::cannot_write));
  EXPECT_TRUE(outcome.lines.empty());
}

TEST(OutputErrors, AFullDiskUnderStdout) {
  const Outcome outcome = run_program({"ops"}, [] { ::dup2(::open("/dev/full", O_WRONLY), STDOUT_FILENO); });
  EXPECT_EQ(outcome.exit_code, static_cast<int>(ExitCode::cannot_write));
}

TEST(OutputErrors, FilesAreLimited) {
  const TempDir folder;
  const std::filesystem::path weights = folder.path() / "weights";
  const Outcome outcome = run_program(train_to(weights, {}), [] {
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
  });
  EXPECT_EQ(outcome.exit_code, static_cast<int>(ExitCode::cannot_write)) << outcome.signal;
  ASSERT_EQ(outcome.lines.size(), 1u);
  EXPECT_NE(outcome.lines[0].find("weights: File too large"), std::string::npos) << outcome.lines[0];
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// A pipe without a reader, one whose reader comes late, and one whose reader does not read: a signal ends the training.
TEST(OutputErrors, ALogThatIsAPipe) {
  const auto run = [](const TempDir& folder, const std::string& steps, const std::string& meanwhile) {
    return run_command({"sh", "-c",
                        "cd \"$1\" && mkfifo pipe && { \"$0\" train mlp:hidden=4 --steps " + steps +
                            " --epochs 100000 --no-eval --quiet --log pipe & } && " + meanwhile + "; wait $!",
                        kProgram, folder.path().string()});
  };
  const TempDir none, late, full;
  const std::string interrupted = "partita: error: [train] interrupted, got SIGTERM";
  Outcome outcome = run(none, "100000", "{ sleep 1; kill -TERM $!; }");
  EXPECT_EQ(outcome.exit_code, 143);
  ASSERT_FALSE(outcome.lines.empty());
  EXPECT_TRUE(outcome.lines.back().starts_with(interrupted)) << outcome.lines.back();
  outcome = run(late, "3", "{ sleep 0.5; cat pipe >log; }");
  EXPECT_EQ(outcome.exit_code, 0);
  const std::string log = read_text(late.path() / "log");
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 3) << log;
  outcome = run(full, "100000", "{ exec 3<pipe; sleep 2; kill -TERM $!; }");
  EXPECT_EQ(outcome.exit_code, 143);
  EXPECT_TRUE(outcome.lines.back().starts_with(interrupted)) << outcome.lines.back();
}

// A trace waits two seconds for the reader of a pipe.
TEST(OutputErrors, ATraceThatIsAPipe) {
  const auto run = [](const TempDir& folder, const std::string& meanwhile) {
    return run_command(
        {"sh", "-c",
         "cd \"$1\" && mkfifo pipe && { \"$0\" train mlp:hidden=4 --steps 2 --no-eval --quiet --trace pipe & "
         "} && " +
             meanwhile + "; wait $!",
         kProgram, folder.path().string()});
  };
  const TempDir none, late;
  Outcome outcome = run(none, "true");
  EXPECT_EQ(outcome.exit_code, static_cast<int>(ExitCode::cannot_write)) << outcome.signal;
  ASSERT_EQ(outcome.lines.size(), 1u);
  EXPECT_EQ(outcome.lines[0],
            "partita: error: [trace] cannot write pipe, got a pipe that nobody reads, expected a reader, or a regular "
            "file");
  outcome = run(late, "{ sleep 0.7; cat pipe >trace; }");
  EXPECT_EQ(outcome.exit_code, 0);
  const std::string trace = read_text(late.path() / "trace");
  EXPECT_TRUE(trace.starts_with("{\"displayTimeUnit\"") && trace.ends_with("]}\n")) << trace;
}

TEST(OutputErrors, OtherClosedStreamsChangeNothing) {
  const TempDir folder;
  const std::filesystem::path weights = folder.path() / "weights", log = folder.path() / "log";
  const Outcome outcome = run_program(train_to(weights, {"--log", log.string()}), [] {
    ::close(STDIN_FILENO);
    ::close(STDERR_FILENO);
  });
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.output.find("test accuracy"), std::string::npos);
  EXPECT_EQ(read_text(log).find("partita"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(weights));
}

}  // namespace
}  // namespace partita

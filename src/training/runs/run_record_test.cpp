#include "training/runs/run_record.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "base/test_refusal.h"
#include "frontend/data/readers/test_files.h"
#include "training/runs/run_summary.h"
#include "training/runs/test_runs.h"

namespace partita {
namespace {

std::string log_in(const TempDir& folder, const std::string& text) {
  const auto path = folder.path() / "old.jsonl";
  write_run_file(path, text);
  return path.string();
}

TEST(RunRecord, ReadsALogOfAnEarlierVersion) {
  const TempDir folder;
  const RunRecord run = read_run(log_in(
      folder, R"({"step":1,"epoch":1,"loss":2.5,"learning_rate":0.1,"step_seconds":0.5,"samples_per_second":16.000})"
              "\n"
              R"({"step":2,"epoch":1,"loss":null,"learning_rate":0.1,"step_seconds":0.25,"samples_per_second":32.000,)"
              R"("exposed_communication_seconds":0.125,"loss_scale":4,"skipped":true})"
              "\n"
              R"({"step":2,"epoch":1,"validation_loss":nan,"validation_accuracy":0.5})"
              "\n"
              R"({"note":"of a user"})"
              "\n"));
  ASSERT_EQ(run.steps.size(), 2U);
  EXPECT_EQ(run.steps[0].loss, 2.5);
  EXPECT_TRUE(std::isnan(run.steps[0].exposed));
  EXPECT_TRUE(std::isnan(run.steps[1].loss));
  EXPECT_EQ(run.steps[1].exposed, 0.125);
  EXPECT_EQ(run.steps[1].loss_scale, 4);
  EXPECT_TRUE(run.steps[1].skipped);
  ASSERT_EQ(run.validations.size(), 1U);
  EXPECT_TRUE(std::isnan(run.validations[0].loss));
  EXPECT_EQ(run.validations[0].accuracy, 0.5);
  ASSERT_EQ(run.notes.size(), 1U);
  EXPECT_EQ(run.notes[0], "1 line of the log without \"step\" was left out");
  EXPECT_EQ(run.name, "old.jsonl");
  EXPECT_FALSE(run.has_events);
}

TEST(RunRecord, AnyCutOfALogIsRead) {
  const std::string whole = log_text(5);
  const TempDir folder;
  for (size_t length = 0; length <= whole.size(); ++length) {
    const std::string text = whole.substr(0, length);
    const RunRecord run = read_run(log_in(folder, text));
    const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
    const bool is_cut = !text.empty() && text.back() != '\n' && text.back() != '}';
    EXPECT_EQ(run.steps.size(), lines + (text.ends_with('}') ? 1 : 0)) << text;
    EXPECT_EQ(run.notes.size(), is_cut ? 1U : 0U) << text;
    if (is_cut) {
      EXPECT_EQ(run.notes[0],
                fmt::format("line {} of old.jsonl is unfinished and was left out: the training was killed "
                            "or still runs",
                            lines + 1));
    }
  }
}

TEST(RunRecord, GarbageInTheMiddleIsRefusedWithItsLine) {
  const TempDir folder;
  const std::string path = (folder.path() / "old.jsonl").string();
  const auto refusal = [&](const std::string& line) {
    log_in(folder, log_text(2) + line + "\n" + log_text(1));
    return refusal_of<InvalidFile>([&] { read_run(path); });
  };
  EXPECT_EQ(refusal("epoch 3"), "[report] " + path + ":3: not a line of a log, got 'epoch 3', expected a JSON object");
  EXPECT_EQ(refusal("[1]"), "[report] " + path + ":3: not a line of a log, got '[1]', expected a JSON object");
  EXPECT_EQ(refusal(R"({"step":3,"loss":"low"})"),
            "[report] " + path + ":3: bad value of loss, got \"low\", expected a number");
  EXPECT_EQ(refusal(R"({"step":-1,"loss":1})"),
            "[report] " + path + ":3: bad value of step, got -1, expected a whole number from 0");
  EXPECT_EQ(refusal(R"({"step":1e300})"),
            "[report] " + path + ":3: bad value of step, got 1e+300, expected a whole number from 0");
  EXPECT_EQ(refusal(R"({"step":2.5})"),
            "[report] " + path + ":3: bad value of step, got 2.5, expected a whole number from 0");
  EXPECT_NE(refusal(std::string("\0\xff\x80", 3)).find(":3: not a line of a log"), std::string::npos);
  EXPECT_EQ(refusal("{\"step\":3,\"x\":\"" + std::string(1 << 20, 'a') + "\"}"),
            "[report] " + path + ":3: the line is too long, got 1048593 bytes, expected at most 1048576");
}

TEST(RunRecord, RandomBytesNeverCrash) {
  std::mt19937 random(11);
  const TempDir folder;
  const std::string whole = log_text(20) + kBeginEvent;
  for (int round = 0; round < 300; ++round) {
    std::string text = whole;
    for (int change = 0; change < 3; ++change) text[random() % text.size()] = static_cast<char>(random());
    write_run_file(folder.path() / "run/log.jsonl", text);
    write_run_file(folder.path() / "run/events.jsonl", text);
    write_run_file(folder.path() / "run/configuration.toml", text);
    try {
      const RunRecord run = read_run((folder.path() / "run").string());
      remarks_on(run, summary_of(run));
    } catch (const InvalidFile&) {
    }
  }
}

TEST(RunRecord, ALogThatGoesBackIsOfAResumedTraining) {
  const TempDir folder;
  const RunRecord run = read_run(log_in(folder, log_text(5) + log_text(7).substr(log_text(2).size())));
  ASSERT_EQ(run.steps.size(), 7U);
  for (size_t i = 0; i < 7; ++i) EXPECT_EQ(run.steps[i].step, static_cast<int64_t>(i) + 1);
  EXPECT_EQ(run.notes, std::vector<std::string>{"the log goes back to step 3: a training was resumed there"});
}

TEST(RunRecord, EventsAndConfigurationAreOptional) {
  const TempDir folder;
  const std::string path = (folder.path() / "run").string();
  EXPECT_EQ(refusal_of<MissingFile>([&] { read_run(path); }),
            "[report] cannot read " + path + ": no such file, expected a run or a log of one");
  std::filesystem::create_directories(path);
  EXPECT_EQ(refusal_of<MissingFile>([&] { read_run(path); }),
            "[report] no run in this folder, got " + path + " without log.jsonl, expected a folder of --run");
  write_run_file(folder.path() / "run/log.jsonl", log_text(3));
  EXPECT_EQ(read_run(path + "/").name, "run");
  EXPECT_FALSE(read_run(path).has_events);
  write_run_file(folder.path() / "run/events.jsonl",
                 std::string(kBeginEvent) + R"({"event":"of a later version"})" + "\n");
  write_run_file(folder.path() / "run/configuration.toml", "# partita job 1\nmodel = \"mlp\"\n[training]\nbatch = 7\n");
  RunRecord run = read_run(path);
  EXPECT_EQ(run.ranks, 2);
  EXPECT_EQ(run.predicted->exposed, 0.0001);
  EXPECT_FALSE(run.end_reason.has_value());
  EXPECT_EQ(run.settings[1], (std::pair<std::string, std::string>("training.batch", "7")));
  // A key of a later version is noted, and the rest is read.
  write_run_file(folder.path() / "run/configuration.toml", "[training]\nbatches = 7\n");
  run = read_run(path);
  EXPECT_EQ(run.steps.size(), 3U);
  ASSERT_EQ(run.notes.size(), 1U);
  EXPECT_NE(run.notes[0].find("unknown key, got 'training.batches'"), std::string::npos) << run.notes[0];
}

TEST(RunSummary, CountsWhatTheLogHas) {
  const TempDir folder;
  const RunRecord run = read_run(log_in(folder, log_text(40, [](int64_t step) { return step % 10 == 5; })));
  const RunSummary summary = summary_of(run);
  EXPECT_EQ(summary.steps, 40);
  EXPECT_EQ(summary.not_finite, 4);
  EXPECT_EQ(summary.first_not_finite, 5);
  EXPECT_EQ(summary.skipped, 4);
  EXPECT_NEAR(summary.total_seconds, 0.08, 1e-9);
  EXPECT_EQ(summary.step_seconds, 0.002);
  EXPECT_EQ(summary.rate, 16000);
  EXPECT_LE(summary.best_loss, summary.loss);
  const std::vector<std::string> remarks = remarks_on(run, summary);
  ASSERT_EQ(remarks.size(), 2U);
  EXPECT_EQ(remarks[0], "The loss of 4 steps was not finite, first in step 5.");
  EXPECT_EQ(median({3, kUnknown, 1, 2}), 2);
  EXPECT_EQ(median({1, 2}), 1.5);
  EXPECT_TRUE(std::isnan(median({kUnknown})));
  EXPECT_EQ(print_count(-1234567), "-1,234,567");
  EXPECT_EQ(print_count(123), "123");
  EXPECT_EQ(print_duration(3725), "1 h 2 min");
}

TEST(RunSummary, RemarksOnUnequalRanksAndEnds) {
  RunRecord run{.path = "r", .name = "r", .steps = {}, .validations = {}};
  run.has_events = true;
  run.planned_steps = 10;
  for (int64_t step = 1; step <= 8; ++step) {
    run.steps.push_back({.step = step, .loss = 1, .seconds = step == 1 ? 1 : 0.1, .exposed = 0.05, .memory = 95});
  }
  run.available_memory = 100;
  run.predicted = {.cluster = "cpu", .step = 0.01};
  run.times.push_back({8, 8, {0.8, 0.4}});
  run.warnings.push_back({3, "[x] careful"});
  const auto remarks = [&] { return fmt::format("{}", fmt::join(remarks_on(run, summary_of(run)), "\n")); };
  for (const char* part : {"killed after step 8 of 10, or still runs", "10 times as long as a usual one: warm-up",
                           "communicates or waits in 50 % of a step", "10 times the 10.000 ms that were predicted",
                           "Rank 0 computes 33 % longer", "used 95 B of the 100 B", "Step 3: [x] careful"}) {
    EXPECT_NE(remarks().find(part), std::string::npos) << part << " in\n" << remarks();
  }
  EXPECT_EQ(state_of(run), "unfinished");
  run.end_reason = "lost rank 3";
  EXPECT_NE(remarks().find("The training ended after step 8 of 10: lost rank 3"), std::string::npos);
  EXPECT_EQ(state_of(run), "ended early");
}

}  // namespace
}  // namespace partita

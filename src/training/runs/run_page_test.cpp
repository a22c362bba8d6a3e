#include "training/runs/run_page.h"

#include <gtest/gtest.h>

#include "base/page/test_page.h"
#include "frontend/data/readers/test_files.h"
#include "training/runs/compare_runs.h"
#include "training/runs/test_runs.h"

namespace partita {
namespace {

void expect_page(const std::string& html) {
  EXPECT_EQ(fault_of_page(html), "");
  for (const char* outside : {"http:", "https:", "src=", "href=", "url(", "@import", "<link", "<iframe", "//"}) {
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
  }
  EXPECT_EQ(html.find("<script>&"), std::string::npos);
}

RunRecord record_of(const TempDir& folder, const std::string& log, const std::string& events = "") {
  write_run_file(folder.path() / "run<b>/log.jsonl", log);
  std::filesystem::remove(folder.path() / "run<b>/events.jsonl");
  if (!events.empty()) write_run_file(folder.path() / "run<b>/events.jsonl", events);
  return read_run((folder.path() / "run<b>").string());
}

std::string all_events() {
  std::string text = kBeginEvent;
  for (int step = 1; step <= 40; ++step) {
    text += fmt::format("{{\"event\":\"ranks\",\"step\":{},\"steps\":1,\"busy_seconds\":[0.001,0.0015]}}\n", step);
  }
  text += R"({"event":"warning","step":3,"message":"careful with <b>tags</b> & \"quotes\""})"
          "\n";
  text += R"({"event":"checkpoint","time":"2026-03-01T12:00:01Z","step":20,"path":"a/step_20"})"
          "\n";
  text += R"({"event":"test","step":40,"loss":0.5,"accuracy":0.75})"
          "\n";
  return text + R"({"event":"end","step":40,"seconds":1.5,"reason":""})"
                "\n";
}

TEST(RunPage, HasAllPartsOfARun) {
  const TempDir folder;
  const std::string log = log_text(40) + R"({"step":40,"epoch":1,"validation_loss":0.5,"validation_accuracy":0.75})"
                                         "\n";
  write_run_file(folder.path() / "run<b>/configuration.toml", "[training]\nbatch = 32\n");
  const std::string html = run_page(record_of(folder, log, all_events()));
  expect_page(html);
  for (const char* part :
       {"net&lt;script&gt;&amp;&quot;&#39;", "finished", "<h2>Loss</h2>", "Validation accuracy", "Learning rate",
        "Rows a second", "Time of a step", "Predicted and measured", "Time by rank", "slowest rank", "Checkpoints",
        "a/step_20", "75.00 %", "batch 32", "careful with &lt;b&gt;"}) {
    EXPECT_NE(html.find(part), std::string::npos) << part;
  }
}

TEST(RunPage, LeavesOutWhatARunDoesNotHave) {
  const TempDir folder;
  const std::string html = run_page(record_of(folder, log_text(10)));
  expect_page(html);
  for (const char* part : {"Validation", "Predicted and measured", "Time by rank", "Checkpoints", "Configuration",
                           "Memory of the first", "Exposed", "Loss scale", "To know"}) {
    EXPECT_EQ(html.find(part), std::string::npos) << part;
  }
}

TEST(RunPage, AnyRunGivesAPage) {
  const TempDir folder;
  const auto every = [](int64_t step) { return step > 0; };
  const auto some = [](int64_t step) { return step % 3 == 0 || (step > 20 && step < 30); };
  for (const std::string& log :
       {std::string(), log_text(1), log_text(1, every), log_text(40, every), log_text(40, some)}) {
    for (const std::string& events : {std::string(), std::string(kBeginEvent), all_events()}) {
      const RunRecord run = record_of(folder, log, events);
      expect_page(run_page(run));
      print_run(run);
    }
  }
}

TEST(RunPage, ItsSizeDoesNotGrowWithTheSteps) {
  const TempDir folder;
  const size_t some = run_page(record_of(folder, log_text(5000))).size();
  const size_t many = run_page(record_of(folder, log_text(50'000, [](int64_t step) { return step % 11 == 0; }))).size();
  EXPECT_LT(many, 3 * some);
  EXPECT_LT(many, size_t{1} << 19);
}

TEST(CompareRuns, NamesRunsApartAndShowsWhatDiffers) {
  const TempDir folder;
  const auto make = [&](const std::string& name, const std::string& configuration, int64_t steps) {
    write_run_file(folder.path() / name / "log.jsonl", log_text(steps));
    if (!configuration.empty()) write_run_file(folder.path() / name / "configuration.toml", configuration);
    return read_run((folder.path() / name).string());
  };
  std::vector<RunRecord> runs{make("a/run", "[training]\nbatch = 16\nseed = 1\n[files]\nsave = \"x\"\n", 100),
                              make("b/run", "[training]\nbatch = 32\nseed = 1\n[files]\nsave = \"y\"\n", 50),
                              make("old", "", 20)};
  name_apart(runs);
  EXPECT_EQ(runs[0].name, "a/run");
  EXPECT_EQ(runs[1].name, "b/run");
  const std::vector<ComparedRow> settings = compared_settings(runs);
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_EQ(settings[0].caption, "training.batch");
  EXPECT_EQ(settings[0].values, (std::vector<std::string>{"16", "32", "-"}));
  const std::string text = print_comparison(runs);
  for (const char* part : {"a/run", "rows a second", "training.batch", "16,000"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  EXPECT_EQ(text.find("validation"), std::string::npos) << text;
  const std::string page = comparison_page(runs);
  expect_page(page);
  EXPECT_NE(page.find("a/run"), std::string::npos);
  std::vector<RunRecord> twice{runs[0], runs[0]};
  name_apart(twice);
  EXPECT_NE(twice[0].name, twice[1].name);
}

}  // namespace
}  // namespace partita

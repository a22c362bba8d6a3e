#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "base/page/test_page.h"
#include "base/test_refusal.h"
#include "frontend/data/readers/test_files.h"
#include "training/sweep/sweep_page.h"

namespace partita {
namespace {

constexpr const char* kSweepText = R"(model = "mlp:hidden=8"
[fixed]
training.steps = 4
[keys]
training.batch = [16, 32]
optimizer.kind = ["sgd", "adam"]
)";

std::string sweep_refusal(const std::string& text) {
  return refusal_of<InvalidFile>([&] { parse_sweep(text, "s.toml"); });
}

TEST(SweepFile, AGridHasAllCombinations) {
  const Sweep sweep = parse_sweep(kSweepText, "s.toml");
  EXPECT_EQ(sweep.fixed.at(0).first, "training.steps");
  const std::vector<KeyValues> trials = trials_of(sweep);
  ASSERT_EQ(trials.size(), 4U);
  EXPECT_EQ(std::set<KeyValues>(trials.begin(), trials.end()).size(), 4U);
  for (const KeyValues& trial : trials) EXPECT_EQ(trial.size(), 2U);
}

TEST(SweepFile, RangesSeedsAndLogRanges) {
  const auto values_of = [](const std::string& key, const std::string& spec) {
    const Sweep sweep = parse_sweep(fmt::format("model = \"mlp\"\n[keys]\n{} = {}\n", key, spec), "s.toml");
    std::vector<std::string> values;
    for (const KeyValues& trial : trials_of(sweep)) values.push_back(trial.at(0).second);
    return values;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(values_of("schedule.learning_rate", "{ log_range = [1e-3, 1.0], count = 4 }"),
            (Texts{"0.001", "0.01", "0.1", "1"}));
  EXPECT_EQ(values_of("optimizer.weight_decay", "{ range = [0.0, 0.1], count = 3 }"), (Texts{"0", "0.05", "0.1"}));
  EXPECT_EQ(values_of("training.batch", "{ range = [8, 32], count = 4 }"), (Texts{"8", "16", "24", "32"}));
  EXPECT_EQ(values_of("training.batch", "{ range = [8, 9], count = 5 }"), (Texts{"8", "9"}));  // whole numbers only
  EXPECT_EQ(values_of("training.seed", "{ seeds = 3 }"), (Texts{"1", "2", "3"}));
  EXPECT_EQ(values_of("\"training.seed\"", "{ values = [5, 5, 6] }"), (Texts{"5", "6"}));
  EXPECT_EQ(values_of("model", "[\"mlp:hidden=4\", \"lenet\"]"), (Texts{"mlp:hidden=4", "lenet"}));
}

TEST(SweepFile, RandomTrialsAreRepeatableAndCanBeContinued) {
  const auto trials = [](int64_t count, int64_t seed) {
    return trials_of(parse_sweep(fmt::format(R"(model = "mlp"
search = "random"
trials = {}
seed = {}
[keys]
schedule.learning_rate = {{ log_range = [1e-4, 1.0] }}
training.batch = [16, 32, 64]
)",
                                             count, seed),
                                 "s.toml"));
  };
  const std::vector<KeyValues> few = trials(20, 1), many = trials(200, 1);
  EXPECT_EQ(std::vector<KeyValues>(many.begin(), many.begin() + 20), few);
  EXPECT_NE(trials(20, 2), few);
  std::map<std::string, int> batches;
  int low = 0;
  for (const KeyValues& trial : many) {
    const double rate = std::stod(trial.at(0).second);
    EXPECT_GE(rate, 1e-4);
    EXPECT_LE(rate, 1.0);
    if (rate < 1e-2) ++low;
    ++batches[trial.at(1).second];
  }
  EXPECT_NEAR(low, 100, 30);  // half of the logarithms
  for (const auto& [batch, count] : batches) EXPECT_NEAR(count, 67, 30) << batch;
}

TEST(SweepFile, RefusesBadTextsWithTheirLines) {
  const std::string head = "model = \"mlp\"\n[keys]\n";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"model = ", "[sweep] s.toml:1: not TOML, got '"},
      {"modell = \"mlp\"\n",
       "[sweep] unknown key, got 'modell', expected one of model config search metric trials seed "
       "fixed keys, did you mean 'model'? (in s.toml:1)"},
      {head + "training.batches = [1]\n", "unknown key, got 'training.batches', expected one of "},
      {head + "training.batches = [1]\n", "did you mean 'training.batch'? (in s.toml:3)"},
      {head + "training.batch = [16, \"many\"]\n", "got 'many'"},
      {head + "training.batch = []\n",
       "[sweep] s.toml:3: no value of training.batch, got an empty list, expected one or "
       "more"},
      {head + "training.batch = 16\n",
       "[sweep] s.toml:3: bad kind of value of training.batch, got integer, expected a "
       "list of values, or { range = [A, B] }"},
      {head + "training.batch = [[1]]\n",
       "[sweep] s.toml:3: bad kind of value of training.batch, got array, expected a "
       "text, a number, true or false"},
      {head + "training.batch = { rang = [1, 2] }\n",
       "[sweep] unknown word of training.batch, got 'rang', expected one "
       "of values range log_range count seeds, did you mean 'range'?"},
      {head + "training.batch = { count = 2 }\n",
       "[sweep] s.toml:3: training.batch needs one of values, range, log_range "
       "and seeds, got 0 of them"},
      {head + "training.batch = { values = [1], count = 2 }\n",
       "[sweep] s.toml:3: count has no effect without a range"},
      {head + "training.batch = { range = [4, 2], count = 2 }\n",
       "[sweep] s.toml:3: bad range, got [4, 2], expected a "
       "lower and a higher number"},
      {head + "schedule.learning_rate = { log_range = [0, 2], count = 2 }\n",
       "expected a lower and a higher number, both "
       "above 0"},
      {head + "training.batch = { range = [1, 2] }\n",
       "[sweep] s.toml:3: a grid needs the points of a range, got no "
       "count of training.batch, expected count = N"},
      {head + "training.batch = { seeds = 0 }\n", "[sweep] s.toml:3: seeds is out of range, got 0, expected 1 to 1000"},
      {head + "files.log = [\"a\"]\n", "[sweep] s.toml:3: a sweep decides this key itself, got files.log"},
      {head + "model = [\"mlpp\"]\n", "mlpp"},
      {"model = \"mlp\"\n[fixed]\ntraining.batch = 4\n[keys]\ntraining.batch = [4]\n",
       "the key is there twice, in [fixed] and [keys], got training.batch"},
      {"model = \"mlp\"\n", "[sweep] s.toml: no key to vary, got no [keys], expected one or more"},
      {"[keys]\ntraining.batch = [4]\n", "[sweep] s.toml: no model, expected model = \"..\""},
      {"metric = \"los\"\n", "did you mean 'loss'?"},
      {"search = \"gird\"\n", "expected one of"},
      {"search = \"random\"\n" + head + "training.batch = [4]\n",
       "a random search needs a length, expected trials = N"},
      {"trials = 3\n" + head + "training.batch = [4]\n", "trials has no effect, got search = \"grid\""},
      {"trials = 0\n", "trials is out of range, got 0, expected 1 to 10000"},
      {"keys = 3\n", "[sweep] s.toml:1: bad kind of value of keys, got integer, expected a table"},
      {head + "training.seed = { seeds = 1000 }\ntraining.batch = { range = [1, 900], count = 900 }\n",
       "[sweep] s.toml: too many trials, got 900000, expected at most 10000; search = \"random\" draws some"},
      {"a" + std::string(40, '.') + "b = 1\n", "[sweep] s.toml:1: "},
  };
  for (const auto& [text, part] : cases) {
    EXPECT_NE(sweep_refusal(text).find(part), std::string::npos) << part << "\nin " << sweep_refusal(text);
  }
}

TrialResult result_of(const std::string& batch, double loss, bool failed = false) {
  return {.values = {{"training.batch", batch}, {"optimizer.kind", "sgd<b>"}},
          .run = "trial_0001",
          .failed = failed,
          .exit_code = failed ? 79 : 0,
          .error = failed ? "[train] not \"finite\" <b>" : "",
          .seconds = 1.5,
          .numbers = failed ? std::map<std::string, double>{} : std::map<std::string, double>{{"loss", loss}}};
}

TEST(TrialFile, KeepsResultsAndDropsAnUnfinishedLine) {
  const TempDir folder;
  const std::string path = (folder.path() / "trials.jsonl").string();
  {
    TrialFile file(path, "abc");
    file.add(result_of("16", 0.5));
    file.add(result_of("32", 0.25, /*failed=*/true));
  }
  std::ofstream(path, std::ios::app) << R"({"status":"done","ru)";
  TrialFile file(path, "abc");
  ASSERT_EQ(file.results().size(), 2U);
  // Values are found in any order of their keys.
  const TrialResult* found = file.find({{"optimizer.kind", "sgd<b>"}, {"training.batch", "16"}});
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->number(SweepMetric::loss), 0.5);
  EXPECT_TRUE(std::isnan(found->number(SweepMetric::test_loss)));
  const TrialResult* failed = file.find({{"training.batch", "32"}, {"optimizer.kind", "sgd<b>"}});
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->error, "[train] not \"finite\" <b>");
  EXPECT_EQ(failed->exit_code, 79);
  file.add(result_of("32", 0.125));  // a later result stands
  EXPECT_EQ(TrialFile(path, "abc").results().size(), 2U);
  EXPECT_FALSE(TrialFile(path, "abc").results().back().failed);
  EXPECT_NE(refusal_of([&] { TrialFile(path, "other"); }).find("holds trials of another sweep"), std::string::npos);
  std::ofstream(path, std::ios::app) << "nonsense\n";
  EXPECT_EQ(refusal_of<InvalidFile>([&] { TrialFile(path, "abc"); }),
            "[sweep] " + path + ":5: not the result of a trial, got 'nonsense', expected a JSON object of a sweep");
}

TEST(SweepPage, IsWellFormedForAnyResults) {
  Sweep sweep = parse_sweep(kSweepText, "s.toml");
  sweep.model = "net<script>";
  sweep.keys = {{.key = "training.batch"}, {.key = "optimizer.kind"}};
  std::vector<TrialResult> some{result_of("16", 0.5), result_of("64", 50), result_of("32", 0, true),
                                result_of("8", 0.25)};
  const std::vector<size_t> order = ranked(some, SweepMetric::loss);
  EXPECT_EQ(order, (std::vector<size_t>{3, 0, 1, 2}));
  EXPECT_EQ(ranked(some, SweepMetric::rows_per_second).size(), 4U);
  for (const auto& results :
       {some, std::vector<TrialResult>{some[2]}, std::vector<TrialResult>{some[0]}, std::vector<TrialResult>{}}) {
    const std::string html = sweep_page(sweep, results);
    EXPECT_EQ(fault_of_page(html), "");
    EXPECT_EQ(html.find("href="), std::string::npos);
    print_sweep(sweep, results);
  }
  const std::string text = print_sweep(sweep, some, 2);
  EXPECT_NE(text.find("the best 2 of 4 trials"), std::string::npos) << text;
  EXPECT_LT(text.find("0.25"), text.find("0.5")) << text;
}

}  // namespace
}  // namespace partita

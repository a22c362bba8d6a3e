#include "job/options.h"

#include <gtest/gtest.h>

#include <set>

#include "job/toml.h"

namespace partita {
namespace {

/// Returns the message of what is thrown, or "" if nothing is.
template <class Fn>
std::string refusal_of_options(const Fn& fn) {
  try {
    fn();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

std::string refusal_of(const std::string& key, const std::string& text) {
  JobConfig config;
  return refusal_of_options([&] { find_option(key).set(config, "--" + find_option(key).flag, {text}); });
}

/// Returns texts that differ from the option's default.
std::vector<std::string> other_value(const JobOption& option) {
  const std::vector<std::string> now = option.get(JobConfig());
  switch (option.form) {
    case JobOption::Form::boolean: return {now.at(0) == "true" ? "false" : "true"};
    case JobOption::Form::number:
      if (option.key() == "optimizer.ema") return {"0.5"};
      return {!now.empty() && now[0] == "1" ? "0.5" : "1"};
    case JobOption::Form::list:
      if (option.key() == "plan.stage") return {"net/h/0..5=1"};
      if (option.key() == "plan.recompute_layers") return {"net/h/0..5=full"};
      return {option.key() == "plan.shard" ? "net/fc1/matmul=((2,1),(1,2))" : "seed"};
    case JobOption::Form::text: break;
  }
  if (option.key() == "data.source") return {"mnist:dir"};
  if (option.key() == "training.dtype") return {"f64"};
  if (option.key() == "plan.dataset_strategy") return {"((2, 1), (2))"};
  const size_t bar = option.value.rfind('|');
  return {bar == std::string::npos ? "a \"quoted\" \\ text\nof two lines" : option.value.substr(bar + 1)};
}

TEST(JobOptions, KeysAndFlagsAreDistinct) {
  std::set<std::string> keys, flags, synonyms;
  for (const JobOption& option : job_options()) {
    EXPECT_TRUE(keys.insert(option.key()).second) << option.key();
    EXPECT_TRUE(option.flag.empty() || flags.insert(option.flag).second) << option.flag;
    EXPECT_FALSE(option.help.empty()) << option.key();
  }
  for (const JobOption& option : job_options()) {
    for (const std::string& synonym : option.synonyms) {
      EXPECT_TRUE(synonyms.insert(synonym).second) << synonym;
      EXPECT_FALSE(flags.contains(synonym)) << synonym << " is a flag itself";
    }
  }
}

TEST(JobOptions, EveryOneIsReadBackFromItsFile) {
  JobConfig config;
  for (const JobOption& option : job_options()) {
    const std::vector<std::string> texts = other_value(option);
    std::vector<std::string> taken = texts;
    if (option.form == JobOption::Form::number) {  // some options take whole numbers only
      taken = refusal_of_options([&] { option.set(config, "test", texts); }).empty() ? texts
                                                                                     : std::vector<std::string>{"7"};
    }
    option.set(config, "test", taken);
    EXPECT_EQ(option.get(config), taken) << option.key();
  }
  JobConfig again;
  assign(again, parse_config(print(config), "job.toml"));
  EXPECT_EQ(print(again), print(config));
  EXPECT_TRUE(differences(again, config).empty());
}

TEST(JobOptions, SeedsOf64BitsAreReadBack) {
  JobConfig config, again;
  config.training.seed = ~uint64_t{0};
  assign(again, parse_config(print(config), "job.toml"));
  EXPECT_EQ(again.training.seed, ~uint64_t{0});
}

TEST(JobOptions, ThereIsOneZero) {
  JobConfig config;
  assign(config, parse_config("[optimizer]\nweight_decay = -0.0\n", "job.toml"));
  EXPECT_EQ(find_option("optimizer.weight_decay").get(config), std::vector<std::string>{"0"});
}

TEST(JobOptions, DifferencesNameTheOption) {
  JobConfig one, other;
  other.optimizer.momentum = 0.5;
  const auto found = differences(one, other);
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0].option->key(), "optimizer.momentum");
  EXPECT_EQ(found[0].got, "0.9");
  EXPECT_EQ(found[0].expected, "0.5");
}

TEST(JobOptions, AnotherOptimizerDropsNumbersWithOtherDefaults) {
  const auto text_of = [](const JobConfig& config, const std::string& key) { return find_option(key).get(config)[0]; };
  JobConfig config{.optimizer = {.kind = OptimizerKind::momentum, .momentum = 0.8, .nesterov = true}};
  const std::vector<Assignment> given{{&find_option("optimizer.nesterov"), "--nesterov", {"true"}},
                                      {&find_option("optimizer.kind"), "--optimizer", {"muon"}}};
  assign(config, given);
  EXPECT_EQ(text_of(config, "optimizer.momentum"), "0.95");
  EXPECT_EQ(text_of(config, "optimizer.nesterov"), "true");
  config = {.optimizer = {.kind = OptimizerKind::adamw, .beta1 = 0.8, .beta2 = 0.95}};
  assign(config, {{&find_option("optimizer.kind"), "--optimizer", {"lion"}}});
  EXPECT_EQ(text_of(config, "optimizer.beta1"), "0.8");
  EXPECT_EQ(text_of(config, "optimizer.beta2"), "0.99");
  EXPECT_EQ(text_of(config, "optimizer.rho"), "0.9");  // of other optimizers, as in older texts
}

TEST(JobOptions, BadValuesAreRefused) {
  EXPECT_EQ(refusal_of("training.batch", "0"), "[--batch] out of range, got 0, expected 1 to 1099511627776");
  for (const char* text : {"", " 1", "1 ", "1.0", "1e3", "0x1", "+", "+-5", "-+5", "++5", "one"}) {
    EXPECT_NE(refusal_of("training.batch", text).find("[--batch] not a number, got"), std::string::npos) << text;
  }
  EXPECT_NE(refusal_of("training.batch", "9223372036854775808").find("[--batch] out of range"), std::string::npos);
  EXPECT_EQ(refusal_of("training.batch", "+8"), "");
  EXPECT_NE(refusal_of("schedule.learning_rate", "1e999").find("[--lr] out of range, got 1e999"), std::string::npos);
  EXPECT_EQ(refusal_of("optimizer.momentum", "+-0.5"), "[--momentum] not a number, got '+-0.5', expected a number");
  EXPECT_NE(refusal_of("training.seed", "-1").find("[--seed] not a whole number"), std::string::npos);
  EXPECT_NE(refusal_of("schedule.warmup_steps", "9223372036854775807").find("out of range"), std::string::npos);
  EXPECT_EQ(refusal_of("optimizer.momentum", "2"), "[--momentum] out of range, got 2, expected 0 to 1");
  EXPECT_NE(refusal_of("optimizer.momentum", "nan").find("[--momentum]"), std::string::npos);
  EXPECT_NE(refusal_of("optimizer.kind", "adan").find("did you mean 'adam'?"), std::string::npos);
  EXPECT_NE(refusal_of("optimizer.nesterov", "5").find("expected true or false"), std::string::npos);
  EXPECT_NE(refusal_of("plan.dataset_strategy", "garbage").find("[--dataset-strategy]"), std::string::npos);
  EXPECT_NE(refusal_of("plan.shard", "garbage").find("[--shard] no nodes are named, got 'garbage'"), std::string::npos);
  EXPECT_NE(refusal_of("files.save", "").find("[--save] bad value, got '', expected a value"), std::string::npos);
  EXPECT_NE(refusal_of_options([] { find_option("optimizer.momentun"); }).find("did you mean 'optimizer.momentum'?"),
            std::string::npos);
}

TEST(JobToml, BadFilesAreRefusedWithTheLine) {
  const auto refused = [](const std::string& text) {
    return refusal_of_options([&] {
      JobConfig config;
      assign(config, parse_config(text, "job.toml"));
    });
  };
  EXPECT_NE(refused("model = ").find("[configuration] job.toml:1: not TOML, got 'Error while parsing"),
            std::string::npos);
  EXPECT_NE(refused("[training]\nbach = 4").find("unknown key, got 'training.bach'"), std::string::npos);
  EXPECT_NE(refused("[training]\nbach = 4").find("did you mean 'training.batch'? (in job.toml:2)"), std::string::npos);
  EXPECT_NE(refused("[training]\nbatch = -4").find("[job.toml:2: training.batch] out of range, got -4"),
            std::string::npos);
  EXPECT_NE(refused("[training]\nbatch = 1979-05-27").find("[job.toml:2: training.batch] bad kind of value, got date"),
            std::string::npos);
  EXPECT_NE(refused("[training]\nbatch = [1, 2]").find("wrong number of values, got 2, expected 1"), std::string::npos);
  EXPECT_NE(refused("[plan.shard]\nx = 1").find("bad kind of value, got table"), std::string::npos);
  std::string deep = "a";  // nested tables, each of which takes more of a parser's stack
  for (int i = 0; i < 500'000; ++i) deep += ".a";
  EXPECT_EQ(refused("\n" + deep + " = 1\n"),
            "[configuration] job.toml:2: a key is nested too deeply, got more than 16 parts, expected section.key");
  EXPECT_EQ(refused("# partita job 1\nmodel = 'lenet'\n[schedule]\nlearning_rate = 1e-3\n"), "");
  EXPECT_THROW(read_config("/no/such/job.toml"), MissingFile);
}

}  // namespace
}  // namespace partita

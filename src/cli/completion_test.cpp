#include "cli/completion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "cli/command_line.h"
#include "job/options.h"

namespace partita {
namespace {

std::vector<CommandWords> all_commands() {
  CLI::App app("", "partita");
  add_commands(app);
  return command_words(app);
}

const CommandWords& command_named(const std::vector<CommandWords>& all, const std::string& name) {
  for (const CommandWords& one : all) {
    if (one.name == name) return one;
  }
  throw InvalidArgument("no command " + name);
}

const FlagWords& flag_named(const CommandWords& command, const std::string& name) {
  for (const FlagWords& one : command.flags) {
    if (std::ranges::find(one.names, name) != one.names.end()) return one;
  }
  throw InvalidArgument("no flag " + name);
}

TEST(CommandWords, HaveEveryOptionOfTrain) {
  const std::vector<CommandWords> all = all_commands();
  std::set<std::string> names;
  for (const FlagWords& flag : command_named(all, "train").flags) names.insert(flag.names.begin(), flag.names.end());
  for (const JobOption& option : job_options()) {
    if (option.flag.empty()) continue;
    EXPECT_TRUE(names.contains("--" + option.flag)) << option.flag;
  }
  EXPECT_TRUE(names.contains("--no-eval"));
  EXPECT_FALSE(command_named(all, "checkpoint merge").flags.empty());
}

TEST(CommandWords, ValuesAreThoseOfTheType) {
  const std::vector<CommandWords> all = all_commands();
  const CommandWords& train = command_named(all, "train");
  EXPECT_EQ(flag_named(train, "--parallel").values,
            (std::vector<std::string>{"none", "data", "hybrid", "semi", "auto"}));
  EXPECT_EQ(flag_named(train, "--resume").values, std::vector<std::string>{"latest"});
  EXPECT_FALSE(flag_named(train, "--quiet").takes_value);
  EXPECT_TRUE(flag_named(train, "--load").takes_value);
  EXPECT_TRUE(flag_named(train, "--load").values.empty());
  const std::vector<std::string>& models = train.first_words;
  EXPECT_NE(std::ranges::find(models, "lenet"), models.end());
  EXPECT_EQ(command_named(all, "completion").first_words, (std::vector<std::string>{"bash", "zsh", "fish"}));
}

TEST(Completion, HasEveryFlagOfEveryCommand) {
  const std::vector<CommandWords> all = all_commands();
  EXPECT_GT(all.size(), 20u);
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const std::string script = completion_script(shell, all);
    for (const CommandWords& command : all) {
      const std::string word =
          shell == "fish" ? " -a " + command.name.substr(command.name.find(' ') + 1) : command.name;
      EXPECT_NE(script.find(word), std::string::npos) << shell << " " << command.name;
      for (const FlagWords& flag : command.flags) {
        for (const std::string& name : flag.names) {
          const size_t dashes = name.find_first_not_of('-');
          const std::string written =
              shell == "fish" ? (dashes == 2 ? " -l " : " -s ") + name.substr(dashes) + " " : name;
          EXPECT_NE(script.find(written), std::string::npos) << shell << " " << command.name << " " << name;
        }
      }
    }
  }
}

TEST(Completion, RefusesAnotherShell) {
  try {
    completion_script("tcsh", {});
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "[completion] unknown shell, got 'tcsh', expected one of bash zsh fish");
  }
}

}  // namespace
}  // namespace partita

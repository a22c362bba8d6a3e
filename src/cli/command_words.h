#pragma once
// Commands, flags and values of a command line as data, for shell completion.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace partita {

struct FlagWords {
  std::vector<std::string> names;  // "--ranks", and "-n" or "--no-ranks" if it exists
  std::string help;
  bool takes_value = false;
  std::vector<std::string> values;  // empty: any value
};

struct CommandWords {
  std::string name;  // "train", or "checkpoint list" for an action of a command
  std::string help;
  std::vector<FlagWords> flags;
  std::vector<std::string> first_words;  // completions of arguments without a flag: models, shells
};

/// Returns a description of every visible command of `app`, in the order in which they were added. The actions of a
/// command follow it.
std::vector<CommandWords> command_words(const CLI::App& app);

}  // namespace partita

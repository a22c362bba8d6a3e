#pragma once
// The commands, flags and values of a command line as data, for the completion of shells.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace partita {

struct FlagWords {
  std::vector<std::string> names;  // "--ranks", and "-n" or "--no-ranks" where there is one
  std::string help;
  bool takes_value = false;
  std::vector<std::string> values;  // empty: any
};

struct CommandWords {
  std::string name;  // "train", or "checkpoint list" for an action of a command
  std::string help;
  std::vector<FlagWords> flags;
  std::vector<std::string> first_words;  // of the arguments without a flag: models, shells
};

/// Describes every visible command of `app`, and the actions of a command after the command itself.
std::vector<CommandWords> command_words(const CLI::App& app);

}  // namespace partita

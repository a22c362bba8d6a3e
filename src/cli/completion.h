#pragma once
// Scripts that complete the words of a command line in a shell.

#include <string>
#include <vector>

#include "cli/command_words.h"

namespace partita {

/// Returns the script for "bash", "zsh" or "fish". Throws InvalidArgument for another shell.
std::string completion_script(const std::string& shell, const std::vector<CommandWords>& commands);

}  // namespace partita

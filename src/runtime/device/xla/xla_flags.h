#pragma once
// Flags of a plugin's compiler, which end the process if they are wrong.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace partita {

/// Flags of XLA_FLAGS that a plugin would not take.
class XlaFlagsFailure : public RuntimeFailure {
 public:
  explicit XlaFlagsFailure(const std::string& message) : RuntimeFailure(ExitCode::usage, message) {}
};

/// Returns the words of a text of flags as XLA splits it: at spaces, except in quotes after "--name=". In double quotes
/// a backslash escapes a character.
std::vector<std::string> words_of_flags(std::string_view text);

/// Returns the flags that a value of XLA_FLAGS stands for: the value itself, or the content of the file that it names;
/// nullopt if that cannot be read or has more than 1 MiB. It names a file, spaces included, unless it is empty or
/// begins, after spaces, with
/// '-'.
std::optional<std::string> text_of_flags(const std::string& value);

/// Returns the names of the flags in XLA_FLAGS, or in the file that it names, such as "xla_dump_to" for
/// "--xla_dump_to=/tmp". None if the file cannot be read, which `require_known_flags` reports.
std::set<std::string, std::less<>> given_flags();

/// Whether the file of a plugin contains the name of a flag; false if it cannot be read.
bool knows_flag(const std::string& plugin, const std::string& name);

/// Checks the names in XLA_FLAGS, or in the file that it names instead, for a plugin of `device`: XLA ends the process
/// for a name that it does not know. The plugin's file contains the names that XLA knows. A name that is the end of a
/// longer one passes, since a linker may keep both as one string. Returns the variable's value; "" if it has no flags,
/// or if `device` is "tpu", whose plugin has other rules. Checks nothing if the file at `plugin` cannot be read. Throws
/// XlaFlagsFailure.
std::string require_known_flags(std::string_view device, const std::string& plugin);
/// Calls `require_known_flags`. Then passes a message with the flags, if there are any, to `warn`, if given.
/// Throws XlaFlagsFailure.
void pass_on_flags(std::string_view device, const std::string& plugin,
                   const std::function<void(std::string_view)>& warn);

}  // namespace partita

#pragma once
// Flags of a plugin's compiler, which end the process if they are wrong.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace partita {

/// Returns the words of a text of flags as XLA splits it: at spaces, except in quotes after "--name=".
std::vector<std::string> words_of_flags(std::string_view text);

/// Checks the names in XLA_FLAGS, or in the file that it names instead, for a plugin of `device`: XLA ends the process
/// for a name that it does not know. The names that it knows stand in the plugin's file. Returns the variable's value,
/// "" if nothing is set. Checks nothing if the file at `plugin` cannot be read, or `device` is "tpu", whose plugin has
/// other rules. Throws RuntimeFailure(usage).
std::string require_known_flags(std::string_view device, const std::string& plugin);
/// Does this, and tells with `warn`, if given, which flags go to the plugin.
void pass_on_flags(std::string_view device, const std::string& plugin,
                   const std::function<void(std::string_view)>& warn);

}  // namespace partita

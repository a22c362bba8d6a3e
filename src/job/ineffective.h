#pragma once
// Refusal of options that have no effect under the rest of a configuration.

#include <functional>
#include <string>
#include <string_view>

#include "job/config.h"

namespace partita {

/// How messages name options: as flags of a command ("--lr 0.1") or as fields of a program ("schedule.learning_rate =
/// 0.1").
enum class OptionNames { flags, fields };

/// Returns the option as messages name it: "--epochs 2" for flags, "training.epochs = 2" for fields. If `value` is
/// empty the result is the name alone. The flag of a switch is "--no-eval" for the value "false", "--eval" for others.
/// Throws InvalidArgument for an unknown key.
std::string option_text(OptionNames names, std::string_view key, const std::string& value = "");

/// Whether the user asked for the option with this key. Options that come from a model's recipe or a configuration file
/// may have no effect.
using IsSaid = std::function<bool(std::string_view key)>;

/// Returns a predicate: whether the option of a key has a value in `config` that differs both from its default and from
/// its value in `recipe`. False for unknown keys.
IsSaid differs_from(const JobConfig& config, const JobConfig& recipe);

/// Checks that each option that was asked for has an effect under the others of a completed configuration. Resuming
/// from "latest" also needs a checkpoint folder, whoever asked for it. Throws InvalidArgument otherwise, with an
/// alternative: "[--flag] has no effect, .." or "[Model] section.key has no effect, ..", or that there is no folder to
/// search.
void refuse_ineffective(const JobConfig& config, const IsSaid& is_said, OptionNames names);

/// Throws the InvalidArgument of `refuse_ineffective` for the option `key`; `why` follows "has no effect, " in it.
[[noreturn]] void refuse_option(OptionNames names, std::string_view key, const std::string& why);

}  // namespace partita

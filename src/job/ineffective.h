#pragma once
// Options that would change nothing under the rest of a configuration.

#include <functional>
#include <string>
#include <string_view>

#include "job/config.h"

namespace partita {

/// How messages name options: as flags of a command ("--lr 0.1") or as fields of a program ("schedule.learning_rate =
/// 0.1").
enum class OptionNames { flags, fields };

/// "--epochs 2", or "training.epochs = 2" for a field. An empty `value` names the option alone. For a switch the values
/// are "true" and "false".
std::string option_text(OptionNames names, std::string_view key, const std::string& value = "");

/// Whether an option was asked for by its key. Recipes of models and configuration files may say what has no effect.
using IsSaid = std::function<bool(std::string_view key)>;

/// Returns whether options of `config` differ from both their defaults and `recipe`.
IsSaid differs_from(const JobConfig& config, const JobConfig& recipe);

/// Throws InvalidArgument, "[--flag] of no effect, .." or "[Model] section.key of no effect, ..", for an option that
/// was asked for and has no effect under the others of a completed configuration, with what to say instead.
void refuse_ineffective(const JobConfig& config, const IsSaid& is_said, OptionNames names);

/// Throws the same for one option.
[[noreturn]] void refuse_option(OptionNames names, std::string_view key, const std::string& why);

}  // namespace partita

#include "cli/command_words.h"

#include <algorithm>

#include "base/plain_text.h"
#include "zoo/zoo.h"

namespace partita {
namespace {

/// Returns the words of "off|on", in this order, without those that contain a capital letter, which name kinds of
/// values: "DIR|FILE|latest" gives "latest". Returns none for a text without '|', such as "FILE".
std::vector<std::string> listed_values(const std::string& type) {
  if (type.find('|') == std::string::npos) return {};
  std::vector<std::string> values;
  for (const std::string_view word : split_words(type, "|")) {
    if (std::ranges::all_of(word, [](char c) { return c < 'A' || c > 'Z'; })) values.emplace_back(word);
  }
  return values;
}

FlagWords flag_words(const CLI::Option& option) {
  FlagWords flag{.help = option.get_description(), .takes_value = option.get_items_expected_max() > 0};
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(flag.names, name) == flag.names.end()) flag.names.push_back(name);
  };
  for (const std::string& name : option.get_lnames()) add("--" + name);
  for (const std::string& name : option.get_fnames()) add("--" + name);
  for (const std::string& name : option.get_snames()) add("-" + name);
  if (flag.takes_value) flag.values = listed_values(option.get_type_name());
  return flag;
}

CommandWords words_of(const CLI::App& command, const std::string& name) {
  CommandWords words{.name = name, .help = command.get_description()};
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) {
      words.flags.push_back(flag_words(*option));
    } else if (option->get_name() == "MODEL") {
      const std::vector<std::string> models = model_names();
      words.first_words.insert(words.first_words.end(), models.begin(), models.end());
    } else {
      const std::vector<std::string> values = listed_values(option->get_type_name());
      words.first_words.insert(words.first_words.end(), values.begin(), values.end());
    }
  }
  return words;
}

}  // namespace

std::vector<CommandWords> command_words(const CLI::App& app) {
  std::vector<CommandWords> all;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); })) {
    const auto actions = command->get_subcommands([](const CLI::App*) { return true; });
    all.push_back(words_of(*command, command->get_name()));
    for (const CLI::App* action : actions) {
      all.back().first_words.push_back(action->get_name());
    }
    for (const CLI::App* action : actions) {
      all.push_back(words_of(*action, command->get_name() + " " + action->get_name()));
    }
  }
  return all;
}

}  // namespace partita

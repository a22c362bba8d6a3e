// partita completion: a script that completes commands, flags and their values in a shell.

#include "cli/completion.h"

#include <fmt/ranges.h>

#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/plain_text.h"
#include "cli/command_line.h"

namespace partita {
namespace {

/// Returns all names of the command's flags, long and short, in the order of `command.flags`.
std::vector<std::string> flag_names(const CommandWords& command) {
  std::vector<std::string> names;
  for (const FlagWords& flag : command.flags) names.insert(names.end(), flag.names.begin(), flag.names.end());
  return names;
}

bool is_action(const CommandWords& command) { return command.name.find(' ') != std::string::npos; }

std::vector<std::string> commands_of(const std::vector<CommandWords>& all) {
  std::vector<std::string> names;
  for (const CommandWords& command : all) {
    if (!is_action(command)) names.push_back(command.name);
  }
  return names;
}

/// Returns `text` with a backslash before every character of `special`.
std::string escaped(const std::string& text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string bash_values(const CommandWords& command) {
  std::string cases;
  for (const FlagWords& flag : command.flags) {
    if (!flag.takes_value) continue;
    const std::string action = flag.values.empty() ? "files=1" : fmt::format("words='{}'", fmt::join(flag.values, " "));
    cases += fmt::format("        {}) {}; return ;;\n", fmt::join(flag.names, " | "), action);
  }
  if (cases.empty()) return "";
  return "      case $before in\n" + cases + "      esac\n";
}

std::string bash_script(const std::vector<CommandWords>& all) {
  std::string script =
      "# Completes the words of partita in bash:\n"
      "#   partita completion bash >~/.local/share/bash-completion/completions/partita\n"
      "_partita_words() {\n"
      "  case $command in\n";
  for (const CommandWords& command : all) {
    script += fmt::format("    '{}')\n{}", command.name, bash_values(command));
    script += fmt::format("      words='{}'\n", fmt::join(flag_names(command), " "));
    script += fmt::format("      [[ $word == -* ]] || {{ words='{}'; files=1; }}\n      ;;\n",
                          fmt::join(command.first_words, " "));
  }
  script += fmt::format("    '') words='{} --help --version' ;;\n  esac\n}}\n", fmt::join(commands_of(all), " "));
  return script +
         "_partita() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command='' words='' files=''\n"
         "  if [[ $COMP_CWORD -gt 1 ]]; then command=${COMP_WORDS[1]}; fi\n"
         "  if [[ $command == checkpoint && $COMP_CWORD -gt 2 ]]; then command+=\" ${COMP_WORDS[2]}\"; fi\n"
         "  _partita_words\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "  if [[ -n $files ]]; then COMPREPLY+=($(compgen -f -- \"$word\")); fi\n"
         "}\n"
         "complete -o filenames -F _partita partita\n";
}

std::string zsh_flag(const FlagWords& flag, const std::string& name) {
  std::string text = fmt::format("{}[{}]", name, escaped(flag.help, "[]\\:"));
  if (flag.takes_value) {
    text += flag.values.empty() ? ":value:_files" : fmt::format(":value:({})", fmt::join(flag.values, " "));
  }
  return single_quoted(text);
}

std::string zsh_script(const std::vector<CommandWords>& all) {
  std::string script =
      "#compdef partita\n"
      "# Completes the words of partita in zsh: partita completion zsh >DIR/_partita, with DIR in $fpath.\n"
      "_partita() {\n"
      "  if (( CURRENT == 2 )); then\n"
      "    local -a commands=(\n";
  for (const CommandWords& command : all) {
    if (is_action(command)) continue;
    script += fmt::format("      {}\n", single_quoted(command.name + ":" + escaped(command.help, ":\\")));
  }
  script +=
      "    )\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  if [[ $command == checkpoint ]] && (( CURRENT > 3 )); then command+=\" $words[3]\"; fi\n"
      "  case $command in\n";
  for (const CommandWords& command : all) {
    script += fmt::format("    {})\n      _arguments", single_quoted(command.name));
    for (const FlagWords& flag : command.flags) {
      for (const std::string& name : flag.names) script += fmt::format(" \\\n        {}", zsh_flag(flag, name));
    }
    const std::string rest =
        command.first_words.empty() ? "*:file:_files" : fmt::format("*:word:({})", fmt::join(command.first_words, " "));
    script += fmt::format(" \\\n        {}\n      ;;\n", single_quoted(rest));
  }
  return script +
         "  esac\n"
         "}\n"
         "if [[ $funcstack[1] == _partita ]]; then _partita \"$@\"; else compdef _partita partita; fi\n";
}

std::string fish_script(const std::vector<CommandWords>& all) {
  std::string script =
      "# Completes the words of partita in fish: partita completion fish >~/.config/fish/completions/partita.fish\n";
  for (const CommandWords& command : all) {
    const size_t space = command.name.find(' ');
    const std::string first = command.name.substr(0, space);
    std::string here = "__fish_seen_subcommand_from " + first;
    if (!is_action(command)) {
      script += fmt::format("complete -c partita -n __fish_use_subcommand -a {} -d '{}'\n", first,
                            escaped(command.help, "'\\"));
    } else {
      const std::string action = command.name.substr(space + 1);
      script += fmt::format("complete -c partita -n '{}' -a {} -d '{}'\n", here, action, escaped(command.help, "'\\"));
      here += "; and __fish_seen_subcommand_from " + action;
    }
    for (const FlagWords& flag : command.flags) {
      for (const std::string& name : flag.names) {
        const bool is_long = name.starts_with("--");
        script += fmt::format("complete -c partita -n '{}' {} {} -d '{}'{}{}\n", here, is_long ? "-l" : "-s",
                              name.substr(is_long ? 2 : 1), escaped(flag.help, "'\\"), flag.takes_value ? " -r" : "",
                              flag.values.empty() ? "" : fmt::format(" -f -a '{}'", fmt::join(flag.values, " ")));
      }
    }
    if (!command.first_words.empty()) {
      script += fmt::format("complete -c partita -n '{}' -a '{}'\n", here, fmt::join(command.first_words, " "));
    }
  }
  return script;
}

}  // namespace

std::string completion_script(const std::string& shell, const std::vector<CommandWords>& commands) {
  if (shell == "bash") return bash_script(commands);
  if (shell == "zsh") return zsh_script(commands);
  if (shell == "fish") return fish_script(commands);
  throw InvalidArgument("[completion] unknown shell, got '{}', expected one of bash zsh fish", shell);
}

void add_completion(CLI::App& app) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "Print a script that completes commands and flags in a shell");
  command->add_option("SHELL", *shell, "bash, zsh or fish")->required()->type_name("bash|zsh|fish");
  command->footer("Example: partita completion bash >~/.local/share/bash-completion/completions/partita");
  command->callback([shell, &app] { std::cout << completion_script(*shell, command_words(app)); });
}

}  // namespace partita

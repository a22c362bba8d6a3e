#pragma once
// The list of all options of a configuration: key, flag, help, parser and printer of each. Command lines, configuration
// files, the consistency check between ranks and the check of a resumed training use this list.

#include <functional>

#include "job/config.h"

namespace partita {

/// The part of a job that an option affects; it decides where the option may differ.
enum class Effect {
  program,    // the computation; equal on all ranks and in a resumed training
  length,     // the end of a training and its reports; may change on resume
  placement,  // the place and way of the computation; may change on resume, but its effect on the program is compared
  files,      // the files read and written; contents of rows and weights are compared instead
  console     // the output of a process; may differ between ranks
};

/// Sections of a configuration file and of --help.
enum class OptionSection { job, data, training, optimizer, schedule, evaluation, ranks, plan, files, console };
constexpr auto value_names(OptionSection) {
  return names("job", "data", "training", "optimizer", "schedule", "evaluation", "ranks", "plan", "files", "console");
}

struct JobOption {
  enum class Form { text, number, boolean, list };

  OptionSection section = OptionSection::job;
  std::string name;   // within its section: "learning_rate"
  std::string flag;   // "lr" for --lr; "" if there is no flag
  std::string value;  // placeholder of the value in help: "NUMBER", "FILE"; "" for a switch
  std::string help;
  Effect effect = Effect::program;
  Form form = Form::text;
  std::vector<std::string> synonyms;  // flags of other programs for which this one is suggested
  /// Returns one text per value of the option in a configuration: none if it is not set, several for a list.
  std::function<std::vector<std::string>(const JobConfig&)> get;
  /// Parses texts into the option's field. Throws InvalidArgument that begins with "[where]" for other texts or another
  /// number of them.
  std::function<void(JobConfig&, std::string_view where, const std::vector<std::string>& texts)> set;

  /// Returns the name with its section, "schedule.learning_rate", or for an option of the section `job` the name alone,
  /// "model".
  std::string key() const;
};

/// Returns all options, section by section.
const std::vector<JobOption>& job_options();
/// Returns the option with this key. Throws InvalidArgument for an unknown key, with the nearest as a suggestion.
const JobOption& find_option(std::string_view key);

/// Values given for one option.
struct Assignment {
  const JobOption* option = nullptr;
  std::string where;  // origin in messages: "--lr", "job.toml: schedule.learning_rate"
  std::vector<std::string> texts;
};
/// Sets the options in order, optimizer.kind first; a later assignment wins. Throws InvalidArgument for a bad value.
void assign(JobConfig& config, const std::vector<Assignment>& assignments);

/// Checks that each field holds a value that its option takes, for programs that fill the fields themselves. Throws
/// InvalidArgument, which begins with the option's key in brackets, otherwise.
void require_legal(const JobConfig& config);

/// An option whose values differ between two configurations, as text.
struct Difference {
  const JobOption* option = nullptr;
  std::string got, expected;
};
/// Returns the options whose texts differ, in the order of job_options().
std::vector<Difference> differences(const JobConfig& got, const JobConfig& expected);

}  // namespace partita

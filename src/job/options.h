#pragma once
// The one list of what a configuration can say: for each option its key in a file, its flag, its help, and how it is
// read and printed. Command lines, configuration files, checks between ranks and between a checkpoint and the run that
// goes on from it all follow from this list.

#include <functional>

#include "job/config.h"

namespace partita {

/// What an option decides.
enum class Effect {
  program,    // what is computed: the same for all ranks, and when a training is resumed
  length,     // when a training ends and what it shows: may change when it is resumed
  placement,  // where and how it is computed: may change when it is resumed; what that changes of the program is
              // compared
  files,      // what is read and written: rows and weights are compared by what is in them
  console     // what a process prints: may differ between ranks
};

/// Sections of a configuration file and of --help.
enum class OptionSection { job, data, training, optimizer, schedule, evaluation, ranks, plan, files, console };
template <>
inline constexpr auto kNames<OptionSection> = names("job", "data", "training", "optimizer", "schedule", "evaluation",
                                                    "ranks", "plan", "files", "console");

struct JobOption {
  enum class Form { text, number, boolean, list };

  OptionSection section = OptionSection::job;
  std::string name;   // in its section: "learning_rate"
  std::string flag;   // "lr", for --lr
  std::string value;  // what help calls the value: "NUMBER", "FILE"; "" for a switch
  std::string help;
  Effect effect = Effect::program;
  Form form = Form::text;
  std::vector<std::string> synonyms;  // flags that other programs use for it, to suggest this one
  /// One text per value: none when nothing is set, several for a list.
  std::function<std::vector<std::string>(const JobConfig&)> get;
  /// Throws InvalidArgument that begins with "[where]".
  std::function<void(JobConfig&, std::string_view where, const std::vector<std::string>& texts)> set;

  /// "schedule.learning_rate"; "model" for an option of the section `job`.
  std::string key() const;
};

/// All options, section by section.
const std::vector<JobOption>& job_options();
/// Throws InvalidArgument with the nearest key.
const JobOption& find_option(std::string_view key);

/// What was said for one option.
struct Assignment {
  const JobOption* option = nullptr;
  std::string where;  // "--lr", "job.toml: schedule.learning_rate"
  std::vector<std::string> texts;
};
void assign(JobConfig& config, const std::vector<Assignment>& assignments);

/// An option for which two configurations say something else.
struct Difference {
  const JobOption* option = nullptr;
  std::string got, expected;
};
std::vector<Difference> differences(const JobConfig& got, const JobConfig& expected);

}  // namespace partita

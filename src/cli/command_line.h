#pragma once
// The commands of the program, one file each.

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

namespace partita {

/// Each adds one command to `app`, `add_exchange` import and export, `add_launch` also the hidden launch-agent and
/// launch-lookup. A command runs at the end of CLI::App::parse, after the whole command line is parsed, and its
/// exceptions leave `parse`.
void add_train(CLI::App& app);
void add_eval(CLI::App& app);
void add_report(CLI::App& app);
void add_compare(CLI::App& app);
void add_sweep(CLI::App& app);
void add_generate(CLI::App& app);
void add_graph(CLI::App& app);
void add_partition(CLI::App& app);
void add_plan(CLI::App& app);
void add_explain(CLI::App& app);
void add_diff(CLI::App& app);
void add_calibrate(CLI::App& app);
void add_cluster(CLI::App& app);
void add_schedule(CLI::App& app);
void add_ops(CLI::App& app);
void add_summary(CLI::App& app);
void add_checkpoint(CLI::App& app);
void add_exchange(CLI::App& app);
void add_launch(CLI::App& app);
void add_diagnose(CLI::App& app);
void add_doctor(CLI::App& app);
void add_tokenize(CLI::App& app);
void add_compile(CLI::App& app);
void add_completion(CLI::App& app);

/// Adds all commands. `app` has to outlive the run of a command.
void add_commands(CLI::App& app);

/// Checks that no option or argument of `command` has an empty value, such as --save "". Throws InvalidArgument
/// otherwise.
void refuse_empty(const CLI::App& command);

/// Adds the command `name` to `app`, or the action to a command, and returns it. Parsing it refuses empty values
/// (`refuse_empty`), then calls `run` with `flags`.
template <class Flags>
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& help,
                      const std::shared_ptr<Flags>& flags, void (*run)(const Flags&)) {
  CLI::App* command = app.add_subcommand(name, help);
  command->callback([command, flags, run] {
    refuse_empty(*command);
    run(*flags);
  });
  return command;
}

/// Runs the command and returns the exit code of the process: 0, the command's own code, cannot_write if stdout cannot
/// be written or, after an exception, the code of the Error, out_of_memory or `internal`. Throws nothing: errors are
/// printed to stderr as one line. From then on the process ignores SIGPIPE and SIGXFSZ.
int run_command_line(int argc, char** argv);

}  // namespace partita

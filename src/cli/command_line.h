#pragma once
// The commands of the program, one file each.

#include <CLI/CLI.hpp>

namespace partita {

/// Each adds one command, which runs after the whole command line is parsed.
void add_train(CLI::App& app);
void add_eval(CLI::App& app);
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
void add_launch(CLI::App& app);
void add_diagnose(CLI::App& app);
void add_doctor(CLI::App& app);
void add_completion(CLI::App& app);

/// Adds all commands. `app` has to outlive the run of a command.
void add_commands(CLI::App& app);

/// Checks that no option of `command` has an empty value, such as --save "". Throws InvalidArgument otherwise.
void refuse_empty(const CLI::App& command);

/// Runs the command and returns the exit code. Errors are printed to stderr as one line.
int run_command_line(int argc, char** argv);

}  // namespace partita

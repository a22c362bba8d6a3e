#pragma once
// The commands of the program, one file each.

#include <CLI/CLI.hpp>

namespace partita {

/// Each adds one command, which runs when the command line was read as a whole.
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

/// Adds all of these. `app` has to outlive the run of a command.
void add_commands(CLI::App& app);

/// Refuses an option of `command` that was given without a text, as in --save "".
void refuse_empty(const CLI::App& command);

/// Runs the command and returns the exit code; errors go to stderr as one line.
int run_command_line(int argc, char** argv);

}  // namespace partita

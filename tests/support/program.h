#pragma once
// Runs the real program the way a user does, and checks how it refuses.

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "frontend/data/readers/test_files.h"

namespace partita {

struct Outcome {
  int exit_code = -1;  // -1 when a signal ended the program
  int signal = 0;
  std::vector<std::string> lines;     // stderr without warnings
  std::vector<std::string> warnings;  // warnings in stderr
  std::string output;                 // stdout
};

/// Runs a command; the program itself is kProgram. `before` is called in the new process: it may change limits,
/// variables and open files. A run that takes more than a minute is ended by a signal.
Outcome run_command(const std::vector<std::string>& words, const std::function<void()>& before = nullptr);

/// Runs the program with these arguments, like `run_command`.
Outcome run_program(const std::vector<std::string>& arguments, const std::function<void()>& before = nullptr);

/// Lets this process run on the first `count` of its cores.
void keep_cores(int count);

/// True when a warning holds the text.
bool has_warning(const Outcome& outcome, const std::string& text);

/// Expects one line `partita: error: ...` that holds every part, this exit code, and no signal.
void expect_refusal(const std::vector<std::string>& arguments, ExitCode code, const std::vector<std::string>& parts);

/// Returns the path of a plugin that a variable names; "" if it is not set.
std::string plugin_in(const char* variable);

std::string read_text(const std::filesystem::path& path);
void write_text(const std::filesystem::path& path, const std::string& text);

}  // namespace partita

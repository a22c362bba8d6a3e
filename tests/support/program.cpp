#include "support/program.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <sstream>

#include "support/places.h"

namespace partita {
namespace {

constexpr unsigned kMaxSeconds = 60;

[[noreturn]] void become_command(std::vector<std::string> arguments, int output, int errors,
                                 const std::function<void()>& before) {
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  // Opened before limits are set, and whether or not another user may reach it.
  const int program = words[0] == std::string_view(kProgram) ? ::open(words[0], O_PATH | O_CLOEXEC) : -1;
  ::dup2(output, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  ::alarm(kMaxSeconds);  // stays set in the program that follows
  if (before) before();
  if (program >= 0) ::fexecve(program, words.data(), environ);
  if (program < 0) ::execvp(words[0], words.data());
  ::_exit(127);
}

std::string read_to_end(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = ::read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(count));
  return text;
}

}  // namespace

Outcome run_command(const std::vector<std::string>& words, const std::function<void()>& before) {
  int ends[2];
  Outcome outcome;
  if (::pipe2(ends, O_CLOEXEC) != 0) return outcome;
  const int output = ::memfd_create("output", MFD_CLOEXEC);
  const pid_t child = ::fork();
  if (child == 0) become_command(words, output, ends[1], before);
  ::close(ends[1]);
  std::istringstream errors(read_to_end(ends[0]));
  ::close(ends[0]);
  for (std::string line; std::getline(errors, line);) {
    (line.starts_with("partita: warning: ") ? outcome.warnings : outcome.lines).push_back(line);
  }
  int status = 0;
  const bool ended = child >= 0 && ::waitpid(child, &status, 0) == child;
  ::lseek(output, 0, SEEK_SET);
  outcome.output = read_to_end(output);
  ::close(output);
  if (!ended) return outcome;
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  return outcome;
}

Outcome run_program(const std::vector<std::string>& arguments, const std::function<void()>& before) {
  std::vector<std::string> words{kProgram};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return run_command(words, before);
}

void keep_cores(int count) {
  cpu_set_t mask;
  ::sched_getaffinity(0, sizeof mask, &mask);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &mask) && --count < 0) CPU_CLR(core, &mask);
  }
  ::sched_setaffinity(0, sizeof mask, &mask);
}

bool has_warning(const Outcome& outcome, const std::string& text) {
  return std::any_of(outcome.warnings.begin(), outcome.warnings.end(),
                     [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

void expect_refusal(const std::vector<std::string>& arguments, ExitCode code, const std::vector<std::string>& parts) {
  const std::string command = fmt::format("partita {}", fmt::join(arguments, " "));
  const Outcome outcome = run_program(arguments);
  EXPECT_EQ(outcome.signal, 0) << command;
  EXPECT_EQ(outcome.exit_code, static_cast<int>(code)) << command;
  ASSERT_EQ(outcome.lines.size(), 1u) << command << "\n" << fmt::format("{}", fmt::join(outcome.lines, "\n"));
  const std::string& line = outcome.lines[0];
  EXPECT_TRUE(line.starts_with("partita: error: [")) << line;
  for (const std::string& part : parts)
    EXPECT_NE(line.find(part), std::string::npos) << "no '" << part << "' in " << line;
}

std::string plugin_in(const char* variable) {
  const char* path = std::getenv(variable);
  return path == nullptr ? "" : path;
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace partita

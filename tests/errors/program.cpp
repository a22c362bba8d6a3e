#include "errors/program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iterator>
#include <sstream>

namespace partita {
namespace {

constexpr unsigned kMostSeconds = 60;

[[noreturn]] void become_program(std::vector<std::string> arguments, int errors) {
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  const int nothing = ::open("/dev/null", O_WRONLY);
  ::dup2(nothing, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  ::alarm(kMostSeconds);  // stays set in the program that follows
  ::execv(words[0], words.data());
  ::_exit(127);
}

std::string read_to_end(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = ::read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(count));
  return text;
}

}  // namespace

Outcome run_program(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{PARTITA_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  int ends[2];
  Outcome outcome;
  if (::pipe2(ends, O_CLOEXEC) != 0) return outcome;
  const pid_t child = ::fork();
  if (child == 0) become_program(words, ends[1]);
  ::close(ends[1]);
  std::istringstream errors(read_to_end(ends[0]));
  ::close(ends[0]);
  for (std::string line; std::getline(errors, line);) {
    (line.starts_with("partita: warning: ") ? outcome.warnings : outcome.lines).push_back(line);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return outcome;
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  return outcome;
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

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace partita

#include "runtime/launch/launcher/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/error.h"
#include "base/open_file_limit.h"
#include "base/printable.h"

extern char** environ;

namespace partita {
namespace {

constexpr int kCannotRun = 127;  // exit code of a command that cannot run, like that of shells

struct Pipe {
  Socket read, write;
};

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw RuntimeFailure(ExitCode::out_of_memory, "[launch] no pipe: {}", std::strerror(errno));
  }
  return {Socket(ends[0]), Socket(ends[1])};
}

Socket nothing_to_read() {
  const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (file >= 0) return Socket(file);
  throw RuntimeFailure(ExitCode::out_of_memory, "[launch] no /dev/null: {}", std::strerror(errno));
}

std::vector<std::string> whole_environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    if (!added.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : added) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

/// Returns the texts of error numbers. They are made before a fork, after which a process must not ask for them.
const std::vector<std::string>& error_texts() {
  constexpr int kErrors = 256;
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> all;
    for (int error = 0; error < kErrors; ++error) all.emplace_back(std::strerror(error));
    return all;
  }();
  return texts;
}

/// Runs in the new process; calls only functions that are allowed between fork and exec. Becomes the command, or ends
/// with exit code 127, after a line that begins with `failure` and goes on with one of `reasons`, by error number.
[[noreturn]] void become(const ChildOptions& options, char** command, char** environment, int in, int out, int err,
                         pid_t parent, const char* failure, const std::vector<std::string>& reasons) {
  restore_open_file_limit();
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kCannotRun);
  if (!options.folder.empty() && ::chdir(options.folder.c_str()) != 0) ::_exit(kCannotRun);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  if (err >= 0) ::dup2(err, STDERR_FILENO);
  if (options.kept >= 0) ::fcntl(options.kept, F_SETFD, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::execvpe(command[0], command, environment);
  const auto error = static_cast<size_t>(errno);
  const char* reason = error < reasons.size() ? reasons[error].c_str() : "an unknown error";
  for (const char* part : {failure, reason, ", expected a program or a partita command\n"}) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, part, std::strlen(part));
  }
  ::_exit(kCannotRun);
}

}  // namespace

Child::Child(const ChildOptions& options) {
  Pipe input, output, errors;
  input = options.has_input ? make_pipe() : Pipe{nothing_to_read(), {}};
  if (options.output < 0) output = make_pipe();
  if (options.errors < 0 && !options.shares_errors) errors = make_pipe();
  const int out = options.output < 0 ? output.write.file() : options.output;
  const int err = options.errors < 0 ? errors.write.file() : options.errors;
  std::vector<std::string> command = options.command, environment = whole_environment(options.environment);
  const std::vector<char*> words = pointers(command), variables = pointers(environment);
  const std::string failure =
      printable(shortened(fmt::format("partita: error: [launch] cannot run '{}', got ", command.at(0))));
  const std::vector<std::string>& reasons = error_texts();
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) {
    become(options, const_cast<char**>(words.data()), const_cast<char**>(variables.data()), input.read.file(), out, err,
           parent, failure.c_str(), reasons);
  }
  if (process_ < 0) {
    throw RuntimeFailure(ExitCode::out_of_memory, "[launch] cannot start a process: {}", std::strerror(errno));
  }
  ended_ = Socket(static_cast<int>(::syscall(SYS_pidfd_open, process_, 0)));
  if (!ended_.is_open()) {
    const int reason = errno;
    signal(SIGKILL);
    ::waitpid(process_, nullptr, 0);
    throw RuntimeFailure(ExitCode::out_of_memory, "[launch] cannot watch a process: {}", std::strerror(reason));
  }
  ::fcntl(ended_.file(), F_SETFD, FD_CLOEXEC);
  input_ = std::move(input.write);
  output_ = std::move(output.read);
  errors_ = std::move(errors.read);
  for (const Socket* end : {&output_, &errors_}) {
    if (end->is_open()) ::fcntl(end->file(), F_SETFL, O_NONBLOCK);
  }
}

Child::~Child() {
  if (process_ <= 0 || !ended_.is_open()) return;  // moved from
  if (!status()) signal(SIGKILL);
  if (!status_) ::waitpid(process_, nullptr, 0);
}

std::optional<int> Child::status() {
  int status = 0;
  if (!status_ && ::waitpid(process_, &status, WNOHANG) == process_) status_ = status;
  return status_;
}

void Child::signal(int number) {
  if (status_) return;
  if (::kill(-process_, number) != 0) ::kill(process_, number);
}

}  // namespace partita

#include "cli/chat/line_process.h"

#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "base/error.h"

extern char** environ;

namespace partita {
namespace {

/// Starts `words` with these files as its standard streams. Returns the error number; 0: it runs.
int spawn_program(const std::vector<std::string>& words, int stream, int errors, pid_t& process) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&files, stream, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, stream, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
  sigset_t none, usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGPROF}) sigaddset(&usual, signal);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &usual);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int failure = ::posix_spawnp(&process, arguments[0], &files, &attributes, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  return failure;
}

/// Returns the last line of a file that is not empty, and of it at most the last 4 KiB.
std::string last_line_of(int file) {
  constexpr off_t kEnd = 4096;
  std::array<char, kEnd> text{};
  const off_t size = ::lseek(file, 0, SEEK_END);
  const ssize_t count = ::pread(file, text.data(), text.size(), std::max<off_t>(size - kEnd, 0));
  std::string_view rest(text.data(), static_cast<size_t>(std::max<ssize_t>(count, 0)));
  while (rest.ends_with('\n')) rest.remove_suffix(1);
  const size_t begin = rest.rfind('\n');
  return std::string(begin == std::string_view::npos ? rest : rest.substr(begin + 1));
}

}  // namespace

LineProcess::LineProcess(const std::vector<std::string>& command) {
  std::array<int, 2> ends{-1, -1};
  int failure = ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0 ? 0 : errno;
  const File other(ends[1]);
  socket_ = File(ends[0]);
  if (failure == 0) {
    errors_ = File(::memfd_create("errors", MFD_CLOEXEC));
    failure = errors_.is_open() ? spawn_program(command, other.fd(), errors_.fd(), process_) : errno;
  }
  if (failure == 0) return;
  process_ = -1;
  if (failure == ENOENT || failure == EACCES || failure == ENOTDIR) {
    throw InvalidArgument("[chat] no program '{}' in PATH, got '{}', expected one", command.at(0),
                          std::strerror(failure));
  }
  throw RuntimeFailure(ExitCode::out_of_memory, "[chat] cannot start {}: {}", command.at(0), std::strerror(failure));
}

LineProcess::~LineProcess() {
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

void LineProcess::report_end() {
  NoAnswer end;
  socket_.close();
  constexpr int kTries = 50;  // each waits for 20 milliseconds
  for (int i = 0; i < kTries && ::waitpid(process_, &end.status, WNOHANG) == 0; ++i) {
    if (i + 1 < kTries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      continue;
    }
    ::kill(process_, SIGKILL);  // it has closed its end, and goes on
    ::waitpid(process_, &end.status, 0);
  }
  process_ = -1;
  end.complaint = last_line_of(errors_.fd());
  throw end;
}

void LineProcess::send_some(std::string_view& rest) {
  const ssize_t sent = ::send(socket_.fd(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) {
    rest.remove_prefix(static_cast<size_t>(sent));
  } else if (errno != EAGAIN && errno != EINTR) {
    report_end();
  }
}

void LineProcess::receive_some(std::string& answer) {
  std::array<char, 1 << 16> piece;
  const ssize_t count = ::recv(socket_.fd(), piece.data(), piece.size(), MSG_DONTWAIT);
  if (count > 0) {
    answer.append(piece.data(), static_cast<size_t>(count));
  } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
    report_end();
  }
}

std::string LineProcess::ask(std::string_view line, const AnswerLimits& limits) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + limits.time;
  const std::string question = std::string(line) + "\n";
  std::string_view rest = question;
  std::string answer;
  while (!answer.ends_with('\n')) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) throw NoAnswer{.reason = NoAnswer::Reason::late};
    pollfd socket{.fd = socket_.fd(), .events = POLLIN, .revents = 0};
    if (!rest.empty()) socket.events |= POLLOUT;
    if (::poll(&socket, 1, static_cast<int>(left)) <= 0) continue;
    if ((socket.revents & ~POLLOUT) != 0) {
      receive_some(answer);
    } else {
      send_some(rest);
    }
    if (answer.size() > limits.bytes) throw NoAnswer{.reason = NoAnswer::Reason::too_long};
  }
  answer.pop_back();
  return answer;
}

}  // namespace partita

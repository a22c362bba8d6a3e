#pragma once
// A child process that answers lines with lines.

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace partita {

/// Why a process did not answer.
struct NoAnswer {
  enum class Reason { ended, late, too_long };
  Reason reason = Reason::ended;
  int status = 0;           // status of waitpid, if it has ended
  std::string complaint{};  // last line of its stderr, if it has ended
};

struct AnswerLimits {
  std::chrono::milliseconds time{};  // from the question to the end of its answer
  size_t bytes = 0;
};

/// A process whose stdin and stdout are one socket to this process. It is killed when this object is destroyed.
class LineProcess {
 public:
  /// Starts a program that is searched in PATH, without a shell. Throws InvalidArgument if there is no such program,
  /// RuntimeFailure(out_of_memory) if no process can be started.
  explicit LineProcess(const std::vector<std::string>& command);
  LineProcess& operator=(LineProcess&&) = delete;
  ~LineProcess();

  /// Sends a line, and returns the line that the process answers, both without their ends. Throws NoAnswer if it ends,
  /// or goes beyond a limit; it must not be asked then any more.
  std::string ask(std::string_view line, const AnswerLimits& limits);

 private:
  [[noreturn]] void report_end();
  /// Sends the begin of `rest`, and removes from it what was sent.
  void send_some(std::string_view& rest);
  /// Appends to `answer` what the process has sent.
  void receive_some(std::string& answer);

  File socket_{}, errors_{};
  pid_t process_ = -1;
};

}  // namespace partita

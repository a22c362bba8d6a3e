#pragma once
// A process that was started, and the pipes to it.

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/comm/sockets/socket.h"

namespace partita {

struct ChildOptions {
  std::vector<std::string> command;
  std::map<std::string, std::string> environment{};  // besides that of this process
  std::string folder = "";                           // to start in; "": this one
  /// Where its streams go: an open file, or, when -1, a pipe to this process. Of stdin: a pipe, or nothing to read.
  int output = -1, errors = -1;
  bool has_input = false;
  bool shares_errors = false;  // stderr is that of this process
  int kept = -1;               // a file descriptor that it gets under the same number
};

/// Ends, by SIGKILL, when the thread that started it does.
class Child {
 public:
  /// Throws RuntimeFailure when it cannot be started. A command that cannot be run ends with 127.
  explicit Child(const ChildOptions& options);
  ~Child();
  Child(Child&&) = default;
  Child& operator=(Child&&) = default;

  pid_t process() const { return process_; }
  /// Readable once it has ended.
  const Socket& ended() const { return ended_; }
  Socket& input() { return input_; }
  Socket& output() { return output_; }
  Socket& errors() { return errors_; }

  /// What waitpid says, once it has ended.
  std::optional<int> status();
  /// To it and what it has started, as long as these stay in its group.
  void signal(int number);

 private:
  pid_t process_ = -1;
  std::optional<int> status_;
  Socket ended_, input_, output_, errors_;
};

}  // namespace partita

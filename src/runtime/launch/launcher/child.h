#pragma once
// A child process and the pipes to it.

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/comm/sockets/socket.h"

namespace partita {

struct ChildOptions {
  std::vector<std::string> command;
  std::map<std::string, std::string> environment{};  // in addition to that of this process
  std::string folder = "";                           // working folder; "": that of this process
  /// File descriptors of its output streams; -1: a pipe to this process. Its stdin is a pipe if `has_input`, else
  /// empty.
  int output = -1, errors = -1;
  bool has_input = false;
  bool shares_errors = false;  // uses this process's stderr
  int kept = -1;               // a file descriptor that it inherits under the same number; -1: none
};

/// The process is killed (SIGKILL) when the thread that started it ends, or this object is destroyed.
class Child {
 public:
  /// Starts the process. If its command cannot be run, it ends with exit code 127. Throws RuntimeFailure(out_of_memory)
  /// if there is no process, pipe or file descriptor for it.
  explicit Child(const ChildOptions& options);
  ~Child();
  Child(Child&&) = default;
  Child& operator=(Child&&) = default;

  pid_t process() const { return process_; }
  /// A file that is readable once the process has ended.
  const Socket& ended() const { return ended_; }
  Socket& input() { return input_; }
  Socket& output() { return output_; }
  Socket& errors() { return errors_; }

  /// Status as waitpid returns it; none while the process runs.
  std::optional<int> status();
  /// Sends a signal to the process and those it has started, as long as these stay in its process group. Does nothing
  /// once `status` has returned one.
  void signal(int number);

 private:
  pid_t process_ = -1;
  std::optional<int> status_;
  Socket ended_, input_, output_, errors_;
};

}  // namespace partita

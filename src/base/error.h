#pragma once
// The error kinds and the exit codes of every program of the project.
//
// Every message reads `[where] what was wrong, got A, expected B`. Values in it are shortened, whoever wrote them.

#include <fmt/format.h>

#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace partita {

/// The class of exception that a front end raises for an error.
enum class ErrorKind { value, type, key, index, runtime };

/// Process exit codes; every number is stable and documented in docs/reference/errors.md.
enum class ExitCode : int {
  ok = 0,
  usage = 64,      // a flag, an option or a program that cannot be accepted
  bad_input = 65,  // a file that is there but is not what it should be
  missing_file = 66,
  internal = 70,  // our bug
  out_of_memory = 71,
  cannot_write = 73,
  peer_lost = 76,
  peer_stalled = 77,
  ranks_disagree = 78,
  non_finite = 79,
  hung_up = 129,      // by SIGHUP, as shells count signals
  interrupted = 130,  // by the user: SIGINT
  terminated = 143,   // by SIGTERM
};

/// What shells add to the number of a signal that ended a program.
inline constexpr int kSignalExit = 128;

/// For one line of a terminal: quoted values and words of more than 160 characters as 'their beginning...' (102400
/// characters), and no more than 4000 characters in all.
std::string shortened(std::string_view message);

class Error : public std::runtime_error {
 public:
  /// The message is shortened.
  Error(ErrorKind kind, ExitCode code, const std::string& message)
      : std::runtime_error(shortened(message)), kind_(kind), code_(code) {}
  ErrorKind kind() const { return kind_; }
  ExitCode code() const { return code_; }

 private:
  ErrorKind kind_;
  ExitCode code_;
};

/// The user can fix it in the program or on the command line.
class InvalidArgument : public Error {
 public:
  explicit InvalidArgument(const std::string& message, ErrorKind kind = ErrorKind::value)
      : Error(kind, ExitCode::usage, message) {}
};

/// A file is damaged or of another kind than expected.
class InvalidFile : public Error {
 public:
  explicit InvalidFile(const std::string& message) : Error(ErrorKind::value, ExitCode::bad_input, message) {}
};

class MissingFile : public Error {
 public:
  explicit MissingFile(const std::string& message) : Error(ErrorKind::value, ExitCode::missing_file, message) {}
};

/// A rank was lost, a disk is full, a deadline passed, a loss is not finite.
class RuntimeFailure : public Error {
 public:
  RuntimeFailure(ExitCode code, const std::string& message) : Error(ErrorKind::runtime, code, message) {}
};

/// A broken assumption inside the project; never reachable from user input.
class InternalError : public Error {
 public:
  explicit InternalError(const std::string& message) : InternalError(message, message) {}
  InternalError(const std::string& message, const std::string& detail)
      : Error(ErrorKind::runtime, ExitCode::internal, message), detail_(shortened(detail)) {}
  /// What is wrong, without the place in the source and the condition: for parts of a text, which the user can fix.
  const std::string& detail() const { return detail_; }

 private:
  std::string detail_;
};

/// Runs the checks of what a text describes as a whole: an assumption that does not hold is a mistake in the text.
/// Throws InvalidArgument that begins with `where`.
void require_consistent(std::string_view where, const std::function<void()>& check);

/// The candidate with the smallest edit distance to `name`, or "" when none is near.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

/// ", did you mean 'x'?" or "".
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& message);

}  // namespace partita

/// Internal invariant; the rest of the arguments is a fmt format and its values.
#define PARTITA_CHECK(condition, ...)                                                    \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      ::partita::check_failed(__FILE__, __LINE__, #condition, fmt::format(__VA_ARGS__)); \
    }                                                                                    \
  } while (false)

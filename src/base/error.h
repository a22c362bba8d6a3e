#pragma once
// The error kinds and the exit codes of every program of the project.
//
// Every message reads `[where] what was wrong, got A, expected B`. Error's constructor shortens long values in it.
//
// Doc comments name some groups of errors, as in "Throws RankFailures". They are no classes:
//
//   LostRanks       RuntimeFailure of a call in which ranks wait for one another: with the error of a rank that fails,
//                   peer_lost or peer_stalled if a rank is lost, peer_stalled if one is late
//   RankFailures    LostRanks, and RuntimeFailure(ranks_disagree) if a rank makes another call, or ends without one
//   ThreadFailures  RuntimeFailure(out_of_memory) if the compute threads cannot be started
//   LauncherErrors  InvalidArgument if the variables of a launcher are invalid or inconsistent, MissingFile or
//                   InvalidFile for its rank table
//   KernelErrors    InvalidArgument for a label, an id or a slot that is out of range, RuntimeFailure(out_of_memory) if
//                   a library lacks memory
//   LoweringErrors  InvalidArgument if the network cannot be lowered under the configuration, or the cluster has too
//                   few ranks for it

#include <fmt/format.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace partita {

/// The class of exception that a front end raises for an error.
enum class ErrorKind { value, type, key, index, runtime };

/// Process exit codes. Every number is stable and documented in docs/reference/errors.md.
enum class ExitCode : int {
  ok = 0,
  usage = 64,      // a flag, an option or a program that is not accepted
  bad_input = 65,  // a file that exists but has the wrong contents
  missing_file = 66,
  internal = 70,  // a bug in Partita
  out_of_memory = 71,
  cannot_write = 73,
  peer_lost = 76,
  peer_stalled = 77,
  ranks_disagree = 78,
  non_finite = 79,
  hung_up = 129,      // ended by SIGHUP, counted as shells count signals
  interrupted = 130,  // ended by the user: SIGINT
  terminated = 143,   // ended by SIGTERM
};

/// Base of the exit codes that shells report for programs ended by a signal: 128 + its number.
inline constexpr int kSignalExit = 128;

/// Returns the message shortened for one line of a terminal. Of a value in single quotes or a word of more than 160
/// bytes, the first 80 remain, with the number of its characters: 'text...' (102400 characters). A text that still has
/// more than 4000 bytes becomes its first 2000 and "... (N characters)". NUL bytes become '?'.
std::string shortened(std::string_view message);

/// A text that fmt::format completes by values of these types, which is checked when it is compiled.
template <class... Values>
using MessageText = fmt::format_string<Values...>;

/// Returns the text with the values.
template <class... Values>
std::string formatted(MessageText<Values...> text, const Values&... values) {
  return fmt::vformat(text, fmt::make_format_args(values...));
}

/// Base of all errors of the project: a message with the front end's exception class and the process exit code.
class Error : public std::runtime_error {
 public:
  /// Shortens `message` (see `shortened`).
  Error(ErrorKind kind, ExitCode code, const std::string& message)
      : std::runtime_error(shortened(message)), kind_(kind), code_(code) {}
  ErrorKind kind() const { return kind_; }
  ExitCode code() const { return code_; }

 private:
  ErrorKind kind_;
  ExitCode code_;
};

/// An error that the user can fix in the program or on the command line.
class InvalidArgument : public Error {
 public:
  explicit InvalidArgument(const std::string& message, ErrorKind kind = ErrorKind::value)
      : Error(kind, ExitCode::usage, message) {}
  /// Formats the message.
  template <class First, class... Rest>
  explicit InvalidArgument(MessageText<First, Rest...> text, const First& first, const Rest&... rest)
      : InvalidArgument(formatted(text, first, rest...)) {}
  template <class First, class... Rest>
  InvalidArgument(ErrorKind kind, MessageText<First, Rest...> text, const First& first, const Rest&... rest)
      : InvalidArgument(formatted(text, first, rest...), kind) {}
};

/// A file that is damaged or of another kind than expected.
class InvalidFile : public Error {
 public:
  explicit InvalidFile(const std::string& message) : Error(ErrorKind::value, ExitCode::bad_input, message) {}
  /// Formats the message.
  template <class First, class... Rest>
  explicit InvalidFile(MessageText<First, Rest...> text, const First& first, const Rest&... rest)
      : InvalidFile(formatted(text, first, rest...)) {}
};

/// A file that does not exist.
class MissingFile : public Error {
 public:
  explicit MissingFile(const std::string& message) : Error(ErrorKind::value, ExitCode::missing_file, message) {}
  /// Formats the message.
  template <class First, class... Rest>
  explicit MissingFile(MessageText<First, Rest...> text, const First& first, const Rest&... rest)
      : MissingFile(formatted(text, first, rest...)) {}
};

/// A failure at run time: a lost rank, a full disk, a missed deadline, a loss that is not finite.
class RuntimeFailure : public Error {
 public:
  RuntimeFailure(ExitCode code, const std::string& message) : Error(ErrorKind::runtime, code, message) {}
  /// Formats the message.
  template <class First, class... Rest>
  RuntimeFailure(ExitCode code, MessageText<First, Rest...> text, const First& first, const Rest&... rest)
      : RuntimeFailure(code, formatted(text, first, rest...)) {}
};

/// A broken assumption inside the project. Never reachable from user input.
class InternalError : public Error {
 public:
  explicit InternalError(const std::string& message)
      : Error(ErrorKind::runtime, ExitCode::internal, message), detail_(shortened(message)) {}
  /// Formats the message.
  template <class First, class... Rest>
  explicit InternalError(MessageText<First, Rest...> text, const First& first, const Rest&... rest)
      : InternalError(formatted(text, first, rest...)) {}
  /// The error of `check_failed`.
  InternalError(const char* file, int line, const char* condition, const std::string& message);
  /// The message without the source location and the condition of `check_failed`; the whole message of other errors.
  /// `require_consistent` shows it for mistakes in a text that the user can fix.
  const std::string& detail() const { return detail_; }

 private:
  std::string detail_;
};

/// Runs `check`, which checks what a text describes as a whole. Throws InvalidArgument that begins with "[where]" for
/// every Error of `check`, InternalError included: an assumption that fails is then a mistake in the text.
void require_consistent(std::string_view where, const std::function<void()>& check);

/// Returns the shortest candidate that begins with `name`, if `name` has 3 bytes or more and one does. Else returns the
/// candidate with the smallest edit distance to `name`, the first of equally near ones, or "" if none is near: at most
/// 1 edit for names of up to 4 bytes, else half the length of `name`.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

/// Returns ", did you mean 'x'?" with the candidate of `nearest`, or "" if none is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

/// Returns the error of a name that is not one of `names`: "`what`, got '`name`', expected `expected`", followed by the
/// name that `did_you_mean` suggests.
InvalidArgument unknown_name(std::string_view what, std::string_view name, std::string_view expected,
                             const std::vector<std::string>& names, ErrorKind kind = ErrorKind::key);

/// Throws InternalError with the source location, the condition and `message`.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& message);

}  // namespace partita

/// Checks an internal invariant; throws InternalError if it does not hold. The arguments after `condition` are a fmt
/// format and its values.
#define PARTITA_CHECK(condition, ...)                                                    \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      ::partita::check_failed(__FILE__, __LINE__, #condition, fmt::format(__VA_ARGS__)); \
    }                                                                                    \
  } while (false)

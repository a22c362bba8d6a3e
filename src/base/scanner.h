#pragma once
// Reads text forms line by line, such as those of graphs and of plan files. Every failure names its line.

#include <string>
#include <string_view>

#include "base/cursor.h"
#include "base/error.h"

namespace partita {

/// Returns the result of `read`. Rethrows its Errors as InvalidArgument whose message begins with "[PLACE]".
template <class Read>
auto with_place(std::string_view place, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    throw InvalidArgument(error.kind(), "[{}] {}", place, error.what());
  }
}

/// Returns the result of `read`. Rethrows its Errors as InvalidArgument whose message begins with "[WHAT line LINE]".
template <class Read>
auto with_line(std::string_view what, int line, const Read& read) {
  return with_place(fmt::format("{} line {}", what, line), read);
}

/// Reads a text whose first line is "partita WHAT 1", line by line. The cursor reads the current line, without trailing
/// spaces.
class Scanner : public Cursor {
 public:
  /// `what` is the word in messages: "[schedule line 7] ...". With a `file` they read "[FILE:7] ...". The text must
  /// outlive the scanner. Throws InvalidArgument if the text exceeds 64 MiB or its first line is not "partita WHAT 1";
  /// the message contains `version` if that line begins with "partita WHAT ", else `otherwise`.
  Scanner(std::string what, std::string_view text, std::string_view otherwise = "wrong first line",
          std::string_view version = "another version", std::string file = "");

  /// Goes to the next line that is neither empty nor a comment ('#'). Returns false at the end of the text.
  bool next();
  /// Makes `rest` the current line, with number `line`, so that a line that was read before can be read again and is
  /// named in errors. `next` does not go on from there, so this is called after it has returned false.
  void go_to(int line, std::string_view rest);
  /// Returns the result of `read`. Rethrows its Errors as InvalidArgument whose message begins with the current line.
  template <class Read>
  auto with_line(const Read& read) const {
    return with_place(place(), read);
  }
  /// Returns the current line as messages name it: "schedule line 7" or "FILE:7".
  std::string place() const;

  /// Sets `seen`. Throws InvalidArgument if it was set: a text gives `name` at most once.
  void once(bool& seen, std::string_view name) const;

  /// Number of the current line, from 1.
  int line() const { return line_; }

 protected:
  std::string message(std::string_view what, std::string_view got, std::string_view expected) const override;

 private:
  bool next_line();

  std::string what_, file_;
  std::string_view text_;
  int line_ = 0;
};

}  // namespace partita

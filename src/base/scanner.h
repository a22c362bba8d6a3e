#pragma once
// Reads the text forms of graphs, plans, schedules and catalogs line by line; every failure names its line.

#include <string>
#include <string_view>

#include "base/cursor.h"
#include "base/error.h"

namespace partita {

/// The result of `read`, whose errors then begin with "[PLACE]".
template <class Read>
auto with_place(std::string_view place, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    throw InvalidArgument(fmt::format("[{}] {}", place, error.what()), error.kind());
  }
}

/// The same with "[WHAT line LINE]".
template <class Read>
auto with_line(std::string_view what, int line, const Read& read) {
  return with_place(fmt::format("{} line {}", what, line), read);
}

class Scanner : public Cursor {
 public:
  /// `what` is the word in messages: "[schedule line 7] ...", or in those of a `file` "[FILE:7] ...". The text outlives
  /// the scanner. Throws InvalidArgument when it is too large, or its first line is not "partita WHAT 1": `otherwise`
  /// is said of a text of another kind, and `version` of another version.
  Scanner(std::string what, std::string_view text, std::string_view otherwise = "wrong first line",
          std::string_view version = "another version", std::string file = "");

  /// Goes to the next line that is neither empty nor a comment ('#'); false at the end.
  bool next();
  /// Goes to a line that was read before.
  void go_to(int line, std::string_view rest);
  /// The result of `read`, whose errors then begin with the line.
  template <class Read>
  auto with_line(const Read& read) const {
    return with_place(place(), read);
  }
  /// Of this line, as messages name it.
  std::string place() const;

  /// Fails when what a text gives once was seen before.
  void once(bool& seen, std::string_view name) const;

  int line() const { return line_; }

 protected:
  std::string message(std::string_view what, std::string_view got, std::string_view expected) const override;

 private:
  friend class LinePart;
  bool next_line();

  std::string what_, file_;
  std::string_view text_;
  int line_ = 0;
};

/// A piece of the line at which a scanner is; what it refuses names that line.
class LinePart : public Cursor {
 public:
  LinePart(const Scanner& scanner, std::string_view piece) : Cursor(piece), scanner_(scanner) {}

 private:
  std::string message(std::string_view what, std::string_view got, std::string_view expected) const override {
    return scanner_.message(what, got, expected);
  }

  const Scanner& scanner_;
};

}  // namespace partita

#pragma once
// Captures the lines that a training prints, for tests.

#include <iostream>
#include <sstream>
#include <string>

#include "support/matches.h"

namespace partita {

/// Redirects std::cout to a text.
class Printed {
 public:
  Printed() : before_(std::cout.rdbuf(text_.rdbuf())) {}
  ~Printed() { std::cout.rdbuf(before_); }
  Printed& operator=(Printed&&) = delete;
  /// Returns the text without times, which differ from run to run.
  std::string text() const { return replace_matches(text_.str(), "[0-9.]+ ms", "T ms"); }

 private:
  std::ostringstream text_;
  std::streambuf* before_;
};

}  // namespace partita

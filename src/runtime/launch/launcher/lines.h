#pragma once
// Splits what arrives through a pipe into lines.

#include <optional>
#include <string>

namespace partita {

class Lines {
 public:
  /// Reads what is available in `file`, at most 64 KiB, for `next`. Returns false if the pipe has ended or fails, or a
  /// line is longer than 1 MiB.
  bool read(int file);
  /// The next whole line, without its end; none if there is none yet.
  std::optional<std::string> next();

 private:
  std::string text_;
  size_t begin_ = 0;  // begin of what `next` has not returned yet
};

}  // namespace partita

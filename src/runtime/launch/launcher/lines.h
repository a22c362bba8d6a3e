#pragma once
// Lines that come through a pipe, in whatever parts.

#include <optional>
#include <string>

namespace partita {

class Lines {
 public:
  /// Takes what is there; false when the pipe has ended, or a line is longer than 1 MiB.
  bool read(int file);
  /// The next whole line, without its end.
  std::optional<std::string> next();

 private:
  std::string text_;
  size_t begin_ = 0;  // of what has not been given out
};

}  // namespace partita

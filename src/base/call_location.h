#pragma once
// Source location of a call. Like std::source_location, which clang 14 lacks.

namespace partita {

class CallLocation {
 public:
  static constexpr CallLocation current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return CallLocation(file, line);
  }
  constexpr const char* file_name() const { return file_; }
  constexpr int line() const { return line_; }

 private:
  constexpr CallLocation(const char* file, int line) : file_(file), line_(line) {}
  const char* file_;
  int line_;
};

}  // namespace partita

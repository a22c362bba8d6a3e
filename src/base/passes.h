#pragma once
// Runs all compiler passes: times, verifies and dumps each by name, and knows which are switched off.

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace partita {

struct PassOptions {
  std::string dump_dir;                   // directory of the dumps; "" = no dumps
  std::vector<std::string> switched_off;  // names of passes to skip
};

/// A pass of a flow, by name.
struct PassName {
  std::string_view name;
  bool is_optional = false;  // whether the user may switch it off
};

/// Wall time of a pass that has run, in seconds.
struct PassTime {
  std::string name;
  double seconds = 0;
};

/// The runner of the passes of one compilation.
class Passes {
 public:
  explicit Passes(PassOptions options) : options_(std::move(options)) {}

  /// Runs `make`, checks the result with `verify`, and returns it. Adds the time of both to `times`. Writes
  /// `print(result)` to N_name.txt in the dump directory, if one is set, where N counts stages from 1. Throws what
  /// `make` and `verify` throw, and RuntimeFailure(cannot_write) if the dump fails.
  template <class Make, class Verify, class Print>
  auto stage(const std::string& name, Make&& make, Verify&& verify, Print&& print) {
    auto result = part(name, make, verify, print);
    ++stages_;
    return result;
  }

  /// Runs a pass as `stage` does, but does not count it as a stage: it works towards the next one, whose number its
  /// dump carries. Throws as `stage` does.
  template <class Make, class Verify, class Print>
  auto part(const std::string& name, Make&& make, Verify&& verify, Print&& print) {
    const auto begin = std::chrono::steady_clock::now();
    auto result = make();
    verify(result);
    finish(name, begin);
    if (dumping()) write(fmt::to_string(stages_ + 1) + "_" + name + ".txt", print(result));
    return result;
  }

  bool dumping() const { return !options_.dump_dir.empty(); }
  /// Writes `text` to the file `name` in the dump directory, which must be set, and creates missing folders. Throws
  /// RuntimeFailure(cannot_write) if the file cannot be written.
  void write(const std::string& name, const std::string& text) const;
  /// Whether the pass runs, i.e. was not switched off.
  bool runs(std::string_view name) const;
  /// Checks that each pass that is switched off is in `passes` and optional. Throws InvalidArgument, listing the
  /// optional passes, otherwise.
  void check_switched_off(const std::vector<PassName>& passes) const;
  const std::vector<PassTime>& times() const { return times_; }

 private:
  void finish(const std::string& name, std::chrono::steady_clock::time_point begin);

  PassOptions options_;
  std::vector<PassTime> times_;
  int stages_ = 0;  // number of finished stages
};

}  // namespace partita

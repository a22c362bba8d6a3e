#pragma once
// The one runner of all passes: times, verifies and dumps each by its name, and knows which are switched off.

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace partita {

struct PassOptions {
  std::string dump_dir;                   // "" = no dumps
  std::vector<std::string> switched_off;  // names of passes to leave out
};

/// A pass of a flow.
struct PassName {
  std::string_view name;
  bool is_optional = false;  // whether it may be switched off
};

struct PassTime {
  std::string name;
  double seconds = 0;
};

class Passes {
 public:
  explicit Passes(PassOptions options) : options_(std::move(options)) {}

  /// Runs `make`, then `verify(result)`, and writes `print(result)` to N_name.txt in the dump folder.
  template <class Make, class Verify, class Print>
  auto stage(const std::string& name, Make&& make, Verify&& verify, Print&& print) {
    auto result = part(name, make, verify, print);
    ++stages_;
    return result;
  }

  /// A pass that works towards the next stage, whose number its dump has.
  template <class Make, class Verify, class Print>
  auto part(const std::string& name, Make&& make, Verify&& verify, Print&& print) {
    const auto begin = std::chrono::steady_clock::now();
    auto result = make();
    verify(result);
    finish(name, begin);
    if (dumping()) write(std::to_string(stages_ + 1) + "_" + name + ".txt", print(result));
    return result;
  }

  bool dumping() const { return !options_.dump_dir.empty(); }
  /// Writes a file of the dump folder.
  void write(const std::string& name, const std::string& text) const;
  /// Whether a pass is to run, i.e. was not switched off.
  bool runs(std::string_view name) const;
  /// Throws InvalidArgument, with the names of optional passes, if a pass is switched off that is not optional or not
  /// among `passes`.
  void check_switched_off(const std::vector<PassName>& passes) const;
  const std::vector<PassTime>& times() const { return times_; }

 private:
  void finish(const std::string& name, std::chrono::steady_clock::time_point begin);

  PassOptions options_;
  std::vector<PassTime> times_;
  int stages_ = 0;  // that were made
};

}  // namespace partita

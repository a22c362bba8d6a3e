#pragma once
// The one runner of all passes: names, times, verifies, dumps and can switch off each.

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace partita {

struct PassOptions {
  std::string dump_dir;                   // "" = no dumps
  std::vector<std::string> switched_off;  // names of passes to leave out
  std::vector<std::string> unverified;    // names of stages and their parts whose results are taken as they are
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
    if (std::find(options_.unverified.begin(), options_.unverified.end(), name) == options_.unverified.end()) {
      verify(result);
    }
    finish(name, begin);
    if (dumping()) write(std::to_string(stages_ + 1) + "_" + name + ".txt", print(result));
    return result;
  }

  /// A pass that may be left out: `change` maps a value to a value of the same type.
  template <class T, class Change>
  T optional(const std::string& name, T value, Change&& change) {
    known_.push_back(name);
    if (off(name)) return value;
    const auto begin = std::chrono::steady_clock::now();
    T result = change(std::move(value));
    finish(name, begin);
    return result;
  }

  bool dumping() const { return !options_.dump_dir.empty(); }
  /// Writes a file of the dump folder.
  void write(const std::string& name, const std::string& text) const;
  /// Throws InvalidArgument when a pass is to be left out that does not exist.
  void check_names() const;
  const std::vector<PassTime>& times() const { return times_; }

 private:
  bool off(const std::string& name) const;
  void finish(const std::string& name, std::chrono::steady_clock::time_point begin);

  PassOptions options_;
  std::vector<std::string> known_;
  std::vector<PassTime> times_;
  int stages_ = 0;  // that were made
};

}  // namespace partita

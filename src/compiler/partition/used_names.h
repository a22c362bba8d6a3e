#pragma once
// Unique names for nodes that a pass adds to a graph.

#include <set>
#include <string>

#include "base/error.h"

namespace partita {

class UsedNames {
 public:
  void add(const std::string& name) { names_.insert(name); }
  /// Returns a name that was not used so far and marks it as used: "x.reshard" for the value "x" and the op "reshard",
  /// or else "x.reshard2" and so on.
  std::string make(const std::string& value, std::string_view op) {
    std::string name = fmt::format("{}.{}", value, op);
    for (int again = 2; !names_.insert(name).second; ++again) name = fmt::format("{}.{}{}", value, op, again);
    return name;
  }

 private:
  std::set<std::string> names_;
};

}  // namespace partita

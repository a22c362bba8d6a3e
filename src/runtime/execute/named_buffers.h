#pragma once
// The buffers of a schedule by the names of what they hold.

#include "compiler/schedule/schedule.h"

namespace partita {

/// Each throws InvalidArgument, with the names there are, for one that is not there.
class NamedBuffers {
 public:
  /// The arguments outlive the object.
  NamedBuffers(const LocalGraph& local, const Schedule& schedule)
      : local_(local), schedule_(schedule), states_(local.graph.states_by_name()) {}

  int input(std::string_view name) const;
  int output(std::string_view name) const;
  int state(std::string_view name) const;

 private:
  const LocalGraph& local_;
  const Schedule& schedule_;
  std::unordered_map<std::string_view, size_t> states_;
};

}  // namespace partita

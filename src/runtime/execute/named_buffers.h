#pragma once
// Finds the buffers of a schedule by the names of inputs, outputs and states.

#include "compiler/schedule/schedule.h"

namespace partita {

/// Each function returns the index of a buffer in the schedule. Throws InvalidArgument for an unknown name, naming the
/// inputs or outputs that exist, or a similar state.
class NamedBuffers {
 public:
  /// The arguments outlive this object.
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

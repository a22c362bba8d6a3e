#pragma once
// Problems of a machine and their remedies.

#include <string>
#include <vector>

#include "cli/machine_facts.h"

namespace partita {

struct Finding {
  bool is_broken = false;  // trainings fail; otherwise they run with less than the machine has
  std::string where;       // "shared memory"
  std::string what;        // "what is wrong, got A, expected B"
  std::string remedy;      // what to do
};

/// Returns all findings, those that break trainings first; of each kind in the order processor, memory, limits, launch,
/// Python and plugins.
std::vector<Finding> findings_of(const MachineFacts& facts);

}  // namespace partita

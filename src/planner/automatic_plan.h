#pragma once
// Plans that a job asks for instead of naming a file: "auto", or "auto:CLUSTER".

#include <string>
#include <string_view>

#include "planner/plan_file/plan_file.h"

namespace partita {

/// Whether the value of PlanConfig::file asks for a search: "auto", or "auto:" and a cluster.
bool is_automatic_plan(std::string_view file);

/// Returns the best plan of `config.model` for the ranks of `config`, or for `launched` ranks if it names no number: on
/// the processors of this machine for "auto", on a preset or the file of a cluster for "auto:CLUSTER". All ranks are
/// used. `where` begins messages. Opens the rows, whose columns the network reads. Throws InvalidArgument if `config`
/// names no model and if nothing fits, and what `plan` and ZooJob throw.
PlanFile automatic_plan(const std::string& file, const JobConfig& config, int launched, const std::string& where);

}  // namespace partita

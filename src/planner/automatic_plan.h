#pragma once
// Plans that a job asks for instead of naming a file: "auto", or "auto:CLUSTER".

#include <string>
#include <string_view>

#include "planner/plan_file/plan_file.h"

namespace partita {

/// Whether the value of PlanConfig::file asks for a search: it is "auto" or begins with "auto:".
bool is_automatic_plan(std::string_view file);

/// Returns the best plan of `config.model` for its batch, as `plan` finds it, with `file` as its path. It uses all of
/// `config.ranks.count` ranks or, if that is 0, of the `launched` ranks that a launcher started, but at least one.
/// `file` is "auto" for the preset cpu, or "auto:CLUSTER" for a preset or the file of a cluster. `where` stands in
/// brackets at the beginning of messages about a missing model, the batch and the ranks. Opens the rows if only they
/// say what columns the network reads. Throws InvalidArgument if `config` names no model or has a bad value, if the
/// cluster is unknown, or if nothing fits. Throws MissingFile or InvalidFile for the file of the cluster, NumPy rows or
/// a launcher's rank table. Throws RuntimeFailure(cannot_write) if a dump fails, RuntimeFailure(out_of_memory) if rows
/// do not fit the memory or compute threads cannot be started.
PlanFile automatic_plan(const std::string& file, const JobConfig& config, int launched, const std::string& where);

}  // namespace partita

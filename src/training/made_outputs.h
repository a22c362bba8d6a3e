#pragma once
// Where the outputs of a program are made.

#include <string_view>

#include "compiler/compile.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/stage_executor.h"

namespace partita {

/// Returns this rank's executor of the first stage with a node that makes the output `name`. Returns null if this rank
/// does not run that stage or no stage has such a node.
const StageExecutor* stage_that_makes(const Program& program, const Executor& executor, std::string_view name);

/// Whether this rank is the first of its stage: the one that passes on results that all ranks of the stage have.
bool is_first(const StageExecutor& stage);

}  // namespace partita

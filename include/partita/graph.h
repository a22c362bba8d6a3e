#pragma once
// Graphs as text, plans, and the programs that ranks run. For tools that inspect them.

#include "compiler/compile.h"
#include "ir/ops/registry.h"

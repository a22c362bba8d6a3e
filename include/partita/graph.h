#pragma once
// Graphs as text, plans, and the programs that ranks run: for tools that look at them.

#include "compiler/compile.h"
#include "ir/ops/registry.h"

#pragma once
// Graphs as text, plans, and the programs that ranks run: for tools that look at them.

#include "compile.h"
#include "ops/registry.h"

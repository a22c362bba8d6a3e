#pragma once
// The planner: searches for the best plan of a network on a cluster, prices and explains it, and stores plans in files.

#include "planner/planner.h"
#include "planner/saved_plan.h"

#pragma once
// The planner: the best plan of a network on a cluster, its price, why it is so, and plans in files.

#include "planner/planner.h"
#include "planner/saved_plan.h"

#pragma once
// Ready-made networks and their training recipes.

#include "zoo/zoo_job.h"

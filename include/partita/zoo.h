#pragma once
// The networks that are there already, and their recipes.

#include "zoo/zoo_job.h"

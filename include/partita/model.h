#pragma once
// Training, evaluation and saving of a network under a configuration, on any number of ranks.

#include "job/config.h"
#include "job/toml.h"
#include "training/model.h"

#pragma once
// A network under a configuration: trained, evaluated, saved on any number of ranks.

#include "job/config.h"
#include "job/toml.h"
#include "training/model.h"

#pragma once
// Networks: layers, functions over symbolic values, initializers and losses.

#include "frontend/network/functions.h"
#include "frontend/network/initializers.h"
#include "frontend/network/layers/layers.h"
#include "frontend/network/network.h"

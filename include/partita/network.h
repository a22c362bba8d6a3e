#pragma once
// Networks: layers, functions over symbolic values, initial values, losses.

#include "network/functions.h"
#include "network/initializers.h"
#include "network/layers/layers.h"
#include "network/network.h"

#pragma once
// All layers. Each has a class to derive from, and a function that makes one and records the caller's source line:
// `dense(10)`. Operands and options are checked when the layer is built; what does not fit is an InvalidArgument.

#include "frontend/network/layers/conv2d.h"
#include "frontend/network/layers/dense.h"
#include "frontend/network/layers/dropout.h"
#include "frontend/network/layers/embedding.h"
#include "frontend/network/layers/mixture_of_experts.h"
#include "frontend/network/layers/norm.h"
#include "frontend/network/layers/pool.h"
#include "frontend/network/layers/sequential.h"
#include "frontend/network/layers/simple.h"
#include "frontend/network/layers/transformer.h"

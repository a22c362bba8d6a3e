#pragma once
// All layers. Each has a class, to derive from, and a function that makes one and notes the caller's
// source line: `dense(10)`.

#include "network/layers/conv2d.h"
#include "network/layers/dense.h"
#include "network/layers/dropout.h"
#include "network/layers/embedding.h"
#include "network/layers/mixture_of_experts.h"
#include "network/layers/norm.h"
#include "network/layers/pool.h"
#include "network/layers/sequential.h"
#include "network/layers/simple.h"
#include "network/layers/transformer.h"

#pragma once
// What the user wrote: a named tree of layers.

#include "network/layer.h"

namespace partita {

struct Network {
  std::string name;
  LayerPtr net;
};

}  // namespace partita

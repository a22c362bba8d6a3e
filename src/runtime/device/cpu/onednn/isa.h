#pragma once
// Version of oneDNN, and the processor instructions that it uses.

#include <string>

namespace partita {

struct OneDnnFacts {
  std::string version;  // version of the loaded library: "2.6.3"
  std::string isa;      // newest instruction set that its kernels use on this processor: "avx512_core"
};

/// Queries the loaded library.
OneDnnFacts onednn_facts();

}  // namespace partita

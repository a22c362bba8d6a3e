#pragma once
// Version of oneDNN, and the processor instructions that it uses.

#include <string>

namespace partita {

struct OneDnnFacts {
  std::string version;  // version of the loaded library: "2.6.3"
  std::string isa;      // newest instruction set that its kernels use on this processor: "avx512_core"
};

/// Returns the facts of the loaded library. The instruction set is "generic" if it uses none that is known here.
OneDnnFacts onednn_facts();

}  // namespace partita

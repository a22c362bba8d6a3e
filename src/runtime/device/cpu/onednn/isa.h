#pragma once
// What oneDNN is and which instructions of the processor it uses.

#include <string>

namespace partita {

struct OneDnnFacts {
  std::string version;  // of the loaded library: "2.6.3"
  std::string isa;      // the newest instruction set that its kernels use here: "avx512_core"
};

OneDnnFacts onednn_facts();

}  // namespace partita

#include "ops/registry.h"

namespace partita {

std::vector<OpDef> listed_ops();  // generated from the folder listing

const OpSet& all_ops() {
  static const OpSet ops(listed_ops());
  return ops;
}

}  // namespace partita

#include "ops/logical.h"

namespace partita {

OpDef logical_and_op() {
  return logical_op("logical_and", "a and b, broadcast", [](bool a, bool b) { return a && b; });
}

}  // namespace partita

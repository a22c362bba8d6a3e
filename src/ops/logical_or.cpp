#include "ops/logical.h"

namespace partita {

OpDef logical_or_op() {
  return logical_op("logical_or", "a or b, broadcast", [](bool a, bool b) { return a || b; });
}

}  // namespace partita

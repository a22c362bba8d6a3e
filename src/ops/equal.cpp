#include "ops/comparison.h"

namespace partita {

OpDef equal_op() {
  return comparison_op("equal", "a == b, broadcast", [](auto a, auto b) { return a == b; });
}

}  // namespace partita

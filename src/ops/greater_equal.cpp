#include "ops/comparison.h"

namespace partita {

OpDef greater_equal_op() {
  return comparison_op("greater_equal", "a >= b, broadcast", [](auto a, auto b) { return a >= b; });
}

}  // namespace partita

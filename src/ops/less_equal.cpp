#include "ops/comparison.h"

namespace partita {

OpDef less_equal_op() {
  return comparison_op("less_equal", "a <= b, broadcast", [](auto a, auto b) { return a <= b; });
}

}  // namespace partita

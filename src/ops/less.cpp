#include "ops/comparison.h"

namespace partita {

OpDef less_op() {
  return comparison_op("less", "a < b, broadcast", [](auto a, auto b) { return a < b; });
}

}  // namespace partita

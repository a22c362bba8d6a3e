#include "ops/comparison.h"

namespace partita {

OpDef greater_op() {
  return comparison_op("greater", "a > b, broadcast", [](auto a, auto b) { return a > b; });
}

}  // namespace partita

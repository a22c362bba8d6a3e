#include "ops/comparison.h"

namespace partita {

OpDef not_equal_op() {
  return comparison_op("not_equal", "a != b, broadcast; true where one is NaN", [](auto a, auto b) { return a != b; });
}

}  // namespace partita

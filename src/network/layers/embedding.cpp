#include "network/layers/embedding.h"

#include "network/initializers.h"

namespace partita {

Value Embedding::construct(Context& context, Value ids) {
  const Value table = context.parameter("weight", {rows_, width_}, normal_initializer(0, 1));
  return context.builder().apply("embedding", {table, ids});
}

}  // namespace partita

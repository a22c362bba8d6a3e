#include "frontend/network/layers/embedding.h"

namespace partita {

Value Embedding::construct(Context& context, Value ids) {
  const Value table = context.parameter("weight", {rows_, width_}, init_.of({rows_, width_}));
  return context.builder().apply("embedding", {table, ids});
}

}  // namespace partita

#include "frontend/network/layers/dropout.h"

#include "ir/ops/random/attrs.h"

namespace partita {

Value Dropout::construct(Context& context, Value x) {
  if (!(rate_ >= 0 && rate_ < 1)) {
    throw InvalidArgument("[dropout] rate is outside its range, got {}, expected 0 <= rate < 1", rate_);
  }
  if (!context.options().training || rate_ == 0) return x;
  const uint64_t key = context.random_key("dropout");
  return context.builder().apply("dropout", {x, context.step()},
                                 DropoutAttrs{.rate = rate_, .key = static_cast<int64_t>(key)});
}

}  // namespace partita

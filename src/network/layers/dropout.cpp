#include "network/layers/dropout.h"

#include "base/philox.h"

namespace partita {

Value Dropout::construct(Context& context, Value x) {
  if (!context.options().training || rate_ == 0) return x;
  const uint64_t key = random_key(context.options().seed, context.scoped("dropout"));
  return context.builder().apply_fields("dropout", {x, context.step()},
                                        {{"rate", to_text(rate_)}, {"key", to_text(static_cast<int64_t>(key))}});
}

}  // namespace partita

#include "zoo/text_models.h"

namespace partita {

void require_tokens(std::string_view model, Value tokens, int64_t seq) {
  if (tokens.type().rank() == 2 && tokens.shape()[1] == seq) return;
  throw InvalidArgument(
      fmt::format("[{}] wrong tokens, got {}, expected [batch,{}]", model, print(tokens.type()), seq));
}

JobConfig text_recipe(int64_t epochs, double weight_decay, double beta2, double learning_rate) {
  return {.training = {.batch = 32, .epochs = epochs},
          .optimizer = {.kind = OptimizerKind::adamw,
                        .weight_decay = weight_decay,
                        .decay_vectors = false,
                        .beta1 = 0.9,
                        .beta2 = beta2,
                        .clip_norm = 1},
          .schedule = {.kind = LrKind::cosine, .learning_rate = learning_rate, .warmup_steps = 100}};
}

}  // namespace partita

#pragma once
// What models of text share.

#include "frontend/network/layer.h"
#include "job/config.h"

namespace partita {

/// Checks that `tokens` are [batch, seq]. Throws InvalidArgument "[model] .." otherwise.
void require_tokens(std::string_view model, Value tokens, int64_t seq);

/// Returns a recipe with batches of 32 rows: adamw, without decay of vectors, and a cosine schedule after 100 steps.
JobConfig text_recipe(int64_t epochs, double weight_decay, double beta2 = 0.99, double learning_rate = 1e-3);

}  // namespace partita

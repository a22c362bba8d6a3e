#pragma once
// Parts that models of tokens share.

#include "frontend/network/layers/layers.h"
#include "zoo/models.h"

namespace partita {

/// Sizes of a model that predicts the next token.
struct TokenSizes {
  std::string model;  // name for messages
  int64_t seq, vocab, hidden;
  double dropout = 0;
  bool has_positions = true;  // whether positions have an embedding
};

/// Returns a layer that maps tokens [b, s] to logits [b, s, vocab]: an embedding, with dropout, the blocks, the norm
/// and the output layer `head`, which is the embedding if there is none. It throws InvalidArgument for rows of other
/// sizes.
LayerPtr token_decoder(const TokenSizes& sizes, LayerPtr blocks, LayerPtr norm, LayerPtr head = nullptr);

/// Returns `count` blocks, one after the other.
LayerPtr repeated(int64_t count, const std::function<LayerPtr(int64_t)>& block);

/// Returns the recipe of these models: AdamW that decays matrices, gradients clipped to a norm of 1, and a cosine
/// schedule after a warm-up.
JobConfig token_recipe(int64_t epochs, double weight_decay);

}  // namespace partita

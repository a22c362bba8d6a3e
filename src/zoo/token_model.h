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
  int64_t positions = 0;      // rows of that embedding; 0: seq
};

/// Returns a layer that maps tokens [b, s] to logits [b, s, vocab]: an embedding, with dropout, the blocks, the norm
/// and the output layer `head`, which is the embedding if there is none. It throws InvalidArgument for rows of other
/// sizes.
LayerPtr token_decoder(const TokenSizes& sizes, LayerPtr blocks, LayerPtr norm, LayerPtr head = nullptr);

/// Checks that rows of `seq` tokens are at most `longest`; 0 is no limit. Throws InvalidArgument otherwise.
void require_length(const std::string& model, int64_t seq, int64_t longest);

/// Returns the first rows, `used` = [rows, width], of the parameter `name`, a table of `positions` rows, or of as many
/// as are used if that is more.
Value position_rows(Context& context, const std::string& name, int64_t positions, const Shape& used,
                    const Initializer& init);

/// Returns `count` blocks, one after the other.
LayerPtr repeated(int64_t count, const std::function<LayerPtr(int64_t)>& block);

/// Returns the recipe of these models: AdamW that decays matrices, gradients clipped to a norm of 1, and a cosine
/// schedule after a warm-up.
JobConfig token_recipe(int64_t epochs, double weight_decay);

}  // namespace partita

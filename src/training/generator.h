#pragma once
// Continues texts of tokens with a network that predicts the next one, on all ranks of a plan.

#include <functional>
#include <optional>
#include <span>

#include "training/model_states.h"

namespace partita {

struct GenerateRequest {
  std::vector<std::vector<int32_t>> texts;  // the tokens of each text so far, at least one
  int64_t length = 1;                       // tokens to add to each, at most
  /// Whether attention keeps keys and values of earlier tokens, so that a step computes one token of each text. Without
  /// it a step computes the whole texts; the tokens are the same up to rounding.
  bool cache = true;
};

/// Chooses the token after the text of this number from its logits; nothing if the text has ended.
using ChooseToken = std::function<std::optional<int32_t>(size_t text, std::span<const float> logits)>;

/// Lengthens texts until all have ended or have `length` more tokens. `columns` are those of the network's rows; the
/// first one that is not "label" has the tokens of a row, whose number is the window. Where a text becomes longer than
/// the window, the network sees its last tokens alone, from half a window on. `choose` is called on the thread of the
/// first rank, for one text after the other of a step. Throws what `choose` throws and InvalidArgument if there are no
/// texts or one has no tokens, if the network has no logits for each token, and, with a cache, for attention that is
/// not causal; else as Model::eval does.
void generate_tokens(const ModelJob& job, ModelStates& states, bool resumes, const std::vector<Column>& columns,
                     const GenerateRequest& request, const ChooseToken& choose);

}  // namespace partita

#pragma once
// Draws the next token of a text from the logits of a language model.

#include <cstdint>
#include <span>
#include <vector>

namespace partita {

struct Sampling {
  double temperature = 0.8;       // divides logits; 0: always the likeliest token
  int64_t top_k = 0;              // number of likeliest tokens that are drawn from; 0: all
  double top_p = 1;               // probability that the likeliest tokens that are drawn from have together, at least
  double repetition_penalty = 1;  // divides positive logits of tokens that the text has, multiplies negative ones
};

/// Returns a token drawn from softmax(logits / temperature), after the logits of tokens in `text` were lowered, among
/// the likeliest tokens that `top_k` and then `top_p` leave (Holtzman et al., 2020, "The curious case of neural text
/// degeneration"; Keskar et al., 2019, "CTRL", for the penalty). Of equal logits the smaller token counts as likelier.
/// `key` and `step` decide the draw. Throws RuntimeFailure(non_finite) if a logit is not finite.
int32_t draw_token(std::span<const float> logits, const std::vector<int32_t>& text, const Sampling& sampling,
                   uint64_t key, uint64_t step);

}  // namespace partita

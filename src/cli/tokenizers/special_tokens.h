#pragma once
// Special tokens for tokenizers that do not find them in texts.

#include <memory>
#include <vector>

#include "cli/tokenizers/added_tokens.h"
#include "cli/tokenizers/tokenizer.h"

namespace partita {

/// Returns a tokenizer that finds `tokens` in a text and leaves the rest to `base`. A token with the id -1 has that of
/// `base`, and is left out if there is none. Ids of tokens may be above those of `base`. `begins_anew`: the text after
/// a token is encoded as a text of its own, else as one that goes on (`encode_continued`). Returns `base` if it finds
/// special tokens itself.
std::unique_ptr<Tokenizer> with_special_tokens(std::unique_ptr<Tokenizer> base, std::vector<AddedToken> tokens,
                                               bool begins_anew);

}  // namespace partita

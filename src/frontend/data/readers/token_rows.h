#pragma once
// Rows for language models: windows of token ids, or of the bytes of a text.

#include <filesystem>

#include "base/names.h"
#include "frontend/data/dataset.h"
#include "frontend/data/readers/text_bytes.h"
#include "frontend/data/readers/token_source.h"

namespace partita {

/// The labels of a row of text. next: the token after each one. masked: the tokens at `targets` positions, which are
/// hidden (Devlin et al., 2018). continuation: the `targets` tokens after those of the row.
enum class TextTask { next, masked, continuation };
constexpr auto value_names(TextTask) { return names("next", "masked", "continuation"); }

/// The rows made of a text.
struct TextFormat {
  int64_t tokens = 0;  // per row
  TextTask task = TextTask::next;
  int64_t targets = 0;        // labels per row, 1 to `tokens` if masked; unused for next, which has one per token
  int64_t mask = 0;           // the token that hides another
  uint64_t seed = 1;          // seed of the hidden positions and of the order of documents
  int32_t masked_label = -1;  // label of tokens that are no targets (TokenSource::has_mask)
  /// For next: whether rows have the column kDocumentColumn, and the last token of a document is no target.
  bool separates_documents = false;
  int64_t vocabulary = 0;  // tokens read from a file in place must be below; 0 = any

  /// Number of labels per row.
  int64_t labels() const { return task == TextTask::next ? tokens : targets; }
  /// Tokens from the start of a row to that of the next (`stride`), and tokens of a row with its labels (`window`).
  int64_t stride() const { return task == TextTask::continuation ? tokens + targets : tokens; }
  int64_t window() const { return tokens + (task == TextTask::next ? 1 : task == TextTask::masked ? 0 : targets); }
};

/// Returns a dataset with the columns "tokens" (i32[tokens]) and "label" (i32[labels]), and for masked rows "positions"
/// (i32[labels]), which are distinct and ascending. On average 8 of 10 hidden tokens become the mask, one a random
/// token of the row, and one stays; this is a function of the seed, the epoch and the row. Windows are adjacent; the
/// rest at the end is not read. Throws InternalError if the tokens are fewer than a window.
DatasetPtr token_rows(TokenSourcePtr tokens, const TextFormat& format);
/// Returns the rows of a text whose bytes are the tokens.
DatasetPtr token_rows(TextBytes bytes, const TextFormat& format);
DatasetPtr token_rows(std::vector<uint8_t> bytes, const TextFormat& format);

/// Returns the columns of `token_rows`: "tokens", "label" and, if masked, "positions", or, with separate documents,
/// kDocumentColumn.
std::vector<Column> token_columns(const TextFormat& format);

/// Returns the windows of a text file (plain, .gz or .xz): of its first 90 % for training, of the rest for testing.
/// Plain files above 64 MiB are read in place, others are kept in memory. Throws MissingFile if the file cannot be
/// opened, and InvalidFile if it is damaged, a packed one has more than 1 GiB, or the part is shorter than a window.
DatasetPtr read_text(const std::filesystem::path& file, Split split, const TextFormat& format);

/// Returns `rows` windows of a generated text, in the columns of `token_rows`. Each of 24 letters follows from the two
/// before it by a random table, and is any letter one time in ten; the splits share the table, not the text. So the
/// best loss is about 0.62, and a model without memory reaches 3.18. A vocabulary smaller than the bytes of these
/// letters has other or fewer letters. `rows` must be at least 1.
DatasetPtr make_synthetic_text(int64_t rows, const TextFormat& format, uint64_t seed, Split split,
                               int64_t vocabulary = 256);

}  // namespace partita

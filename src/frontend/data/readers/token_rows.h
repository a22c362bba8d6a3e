#pragma once
// Text for language models: bytes are the tokens, a row is a window of them.

#include <filesystem>

#include "base/names.h"
#include "frontend/data/dataset.h"
#include "frontend/data/readers/text_bytes.h"

namespace partita {

/// What the labels of a row of text are. next: the byte that follows each token. masked: the bytes at `targets`
/// positions, which the tokens hide (Devlin et al., 2018). continuation: the `targets` bytes that follow the tokens.
enum class TextTask { next, masked, continuation };
template <>
inline constexpr auto kNames<TextTask> = names("next", "masked", "continuation");

struct TextFormat {
  int64_t tokens = 0;  // of a row
  TextTask task = TextTask::next;
  int64_t targets = 0;  // labels of a row, from 1 to `tokens` when masked; next: one for each token, whatever this says
  int64_t mask = 0;     // the token that hides another
  uint64_t seed = 1;    // of what is masked

  int64_t labels() const { return task == TextTask::next ? tokens : targets; }
  /// Bytes between the beginnings of two rows, and bytes of a row, labels included.
  int64_t stride() const { return task == TextTask::continuation ? tokens + targets : tokens; }
  int64_t window() const { return tokens + (task == TextTask::next ? 1 : task == TextTask::masked ? 0 : targets); }
};

/// Columns "tokens" (i32[tokens]) and "label" (i32[labels]), of masked rows also "positions" (i32[labels]), which are
/// distinct and rise. Of ten hidden tokens eight are the mask, one is another of the row, one is as it was; which ones
/// is a function of the seed, the epoch and the row. Windows lie side by side; what is left at the end is not read.
/// `bytes` holds at least one window.
DatasetPtr token_rows(TextBytes bytes, const TextFormat& format);
DatasetPtr token_rows(std::vector<uint8_t> bytes, const TextFormat& format);

/// The columns of such rows.
std::vector<Column> token_columns(const TextFormat& format);

/// The windows of a text file (plain, .gz or .xz): of its first 90 % for training, of the rest for testing. Throws
/// MissingFile, InvalidFile when a part is shorter than a window or the file larger than 1 GiB.
DatasetPtr read_text(const std::filesystem::path& file, Split split, const TextFormat& format);

/// A generated stand-in: each of 24 letters follows from the two before it by a random table, and is any letter
/// one time in ten, so that the best loss is about 0.62 and a model without memory reaches 3.18. A vocabulary of fewer
/// bytes than these letters need has other or fewer ones.
DatasetPtr make_synthetic_text(int64_t rows, const TextFormat& format, uint64_t seed, Split split,
                               int64_t vocabulary = 256);

}  // namespace partita

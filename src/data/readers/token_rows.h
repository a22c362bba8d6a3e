#pragma once
// Text for language models: bytes are the tokens, a row is a window of them.

#include <filesystem>

#include "data/dataset.h"

namespace partita {

/// Columns "tokens" (i32[length]) and "label" (i32[length]): the byte at each position and the one that follows.
/// Windows lie side by side; what is left at the end is not read. `bytes` holds at least length + 1 of them.
DatasetPtr token_rows(std::vector<uint8_t> bytes, int64_t length);

/// The two columns of such rows.
std::vector<Column> token_columns(int64_t length);

/// The windows of a text file (plain, .gz or .xz): of its first 90 % for training, of the rest for testing. Throws
/// MissingFile, InvalidFile when a part is shorter than a window or the file larger than 1 GiB.
DatasetPtr read_text(const std::filesystem::path& file, Split split, int64_t length);

/// A generated stand-in: each of 24 letters follows from the two before it by a random table, and is any letter
/// one time in ten, so that the best loss is about 0.62 and a model without memory reaches 3.18.
DatasetPtr make_synthetic_text(int64_t rows, int64_t length, uint64_t seed, Split split);

}  // namespace partita

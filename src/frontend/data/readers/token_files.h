#pragma once
// Rows made of files of token ids.

#include <filesystem>
#include <optional>

#include "frontend/data/readers/token_rows.h"
#include "frontend/data/token_type.h"

namespace partita {

/// A file of token ids: ids alone (`.u16`, `.u32`, or any name if their type is given), a one-dimensional `.npy`, or a
/// file in Megatron's format, NAME.bin with NAME.idx next to it, named as NAME, NAME.bin or NAME.idx.
struct TokenPath {
  std::filesystem::path path{};
  std::optional<TokenType> type = std::nullopt;  // type of the ids; must be that of the file, if it says one
};

/// Whether a mask lies next to a file of token ids, or to that of NAME (`mask_path`).
bool has_mask(const std::filesystem::path& file);

/// Returns the windows of a file of token ids, in the columns of `token_rows`. Ids are read in place when a row is
/// read; memory is needed for the index of documents alone (`DocumentTokens`). For training, documents of Megatron's
/// format are shuffled by `format.seed` and the epoch, joined, and then cut; other files, and all for testing, are cut
/// as they are. If a mask lies next to the file, labels that are no targets become `format.masked_label`. Throws
/// MissingFile if a file cannot be opened, InvalidArgument if the type of the ids is not known or rows with
/// continuations have a mask, and InvalidFile if a file or its mask is damaged, of another type, shorter than a window
/// or not a whole number of ids. Reading rows throws InvalidFile for an id outside of `format.vocabulary`, with its
/// position, and for a file that became shorter.
DatasetPtr read_tokens(const TokenPath& file, Split split, const TextFormat& format);

}  // namespace partita

#pragma once
// The index of a file of token ids in Megatron's format (FILE.idx next to FILE.bin): where documents begin and end.

#include <filesystem>
#include <vector>

#include "frontend/data/token_type.h"

namespace partita {

/// The documents of a file of token ids.
struct TokenIndex {
  TokenType type = TokenType::u16;
  std::vector<uint32_t> lengths{};  // ids per document, in the order of the file
  int64_t tokens = 0;               // sum of the lengths
};

/// Reads an index: 9 bytes "MMIDIDX", version 1 (u64), code of the element type (u8), numbers of sequences and of
/// boundaries of documents (u64), lengths of sequences (i32), their first bytes (i64), and the sequences at which
/// documents begin, followed by the number of sequences (i64). Needs 4 bytes of memory per document. Throws MissingFile
/// if the file cannot be opened, InvalidFile if it is damaged, its ids are no integers, sequences are not one after
/// another, or a document has more than 2^32 - 1 ids.
TokenIndex read_token_index(const std::filesystem::path& file);

}  // namespace partita

#include "frontend/data/readers/token_files.h"

#include "frontend/data/readers/document_tokens.h"
#include "frontend/data/readers/numpy_files.h"
#include "frontend/data/readers/token_file.h"
#include "frontend/data/readers/token_index.h"
#include "frontend/data/readers/token_mask.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

/// Returns the index of a file in Megatron's format, an empty path for a file of another format.
fs::path find_index(const fs::path& path) {
  if (path.extension() == ".idx") return path;
  fs::path index = path;
  if (path.extension() == ".bin") {
    index.replace_extension(".idx");
  } else {
    index += ".idx";
  }
  std::error_code code;
  return fs::exists(index, code) && (path.extension() == ".bin" || !fs::exists(path, code)) ? index : fs::path();
}

void require_type(const TokenPath& file, TokenType found) {
  if (!file.type || *file.type == found) return;
  throw InvalidFile("[tokens] ids of another type in '{}', got {}, expected {}", file.path.string(), name_of(found),
                    name_of(*file.type));
}

/// Gives the ids their mask if one lies next to their file. Throws InvalidFile if it is not theirs.
TokenFile masked(TokenFile tokens, const fs::path& ids) {
  if (has_mask(ids)) tokens.set_mask(TokenMask(mask_path(ids), tokens.size()));
  return tokens;
}

TokenSourcePtr open_indexed(const TokenPath& file, const fs::path& path, Split split, const TextFormat& format) {
  TokenIndex index = read_token_index(path);
  require_type(file, index.type);
  fs::path ids = path;
  const RandomAccessFile opened(ids.replace_extension(".bin"));
  const int64_t bytes = index.tokens * width_of(index.type);
  if (opened.size() != bytes) {
    throw InvalidFile("[tokens] '{}' is not the file of '{}', got {} bytes, expected {} for {} ids of {}", ids.string(),
                      path.string(), opened.size(), bytes, index.tokens, name_of(index.type));
  }
  opened.expect_random_reads();
  TokenFile tokens = masked(TokenFile(opened, {.type = index.type, .tokens = index.tokens}, format.vocabulary), ids);
  if (split == Split::train) {
    return std::make_shared<DocumentTokens>(std::move(tokens), std::move(index.lengths), format.seed);
  }
  if (!format.separates_documents) return std::make_shared<TokenFile>(std::move(tokens));
  return std::make_shared<DocumentTokens>(std::move(tokens), std::move(index.lengths), std::nullopt);
}

TokenType type_of_descr(const std::string& descr, const fs::path& path) {
  if (descr == "|u1") return TokenType::u8;
  if (descr == "<u2") return TokenType::u16;
  if (descr == "<u4") return TokenType::u32;
  if (descr == "<i4") return TokenType::i32;
  if (descr == "<i8") return TokenType::i64;
  throw InvalidFile("[tokens] no ids in '{}', got element type {}, expected <u2, <u4, <i4, <i8 or |u1", path.string(),
                    descr);
}

TokenSourcePtr open_npy(const TokenPath& file, const TextFormat& format) {
  const NpyLayout layout = read_npy_layout(file.path);
  const TokenType type = type_of_descr(layout.descr, file.path);
  require_type(file, type);
  if (layout.shape.size() != 1) {
    throw InvalidFile("[tokens] more than one sequence in '{}', got shape [{}], expected one dimension",
                      file.path.string(), fmt::join(layout.shape, ","));
  }
  const RandomAccessFile opened(file.path);
  const int64_t tokens = layout.shape[0], bytes = layout.first_byte + tokens * width_of(type);
  if (opened.size() != bytes) {
    throw InvalidFile("[tokens] another size of '{}', got {} bytes, expected {} for {} ids of {}", file.path.string(),
                      opened.size(), bytes, tokens, name_of(type));
  }
  opened.expect_random_reads();
  return std::make_shared<TokenFile>(
      masked(TokenFile(opened, TokenRange{type, layout.first_byte, tokens}, format.vocabulary), file.path));
}

TokenSourcePtr open_flat(const TokenPath& file, const TextFormat& format) {
  const RandomAccessFile opened(file.path);
  const fs::path ending = file.path.extension();
  std::optional<TokenType> type = file.type;
  if (ending == ".u16" || ending == ".u32") {
    type = ending == ".u16" ? TokenType::u16 : TokenType::u32;
    require_type(file, *type);
  }
  if (!type) {
    const std::string name = file.path.string();
    throw InvalidArgument(
        "[tokens] the type of the ids is not known, got '{}' without '{}', expected tokens:u16:{} or tokens:u32:{}, or "
        "a file that ends in .u16, .u32 or .npy",
        name, fs::path(file.path).replace_extension(".idx").string(), name, name);
  }
  const int64_t width = width_of(*type);
  if (opened.size() % width != 0) {
    throw InvalidFile("[tokens] not a whole number of ids in '{}', got {} bytes, expected a multiple of {} for {}",
                      file.path.string(), opened.size(), width, name_of(*type));
  }
  opened.expect_random_reads();
  return std::make_shared<TokenFile>(
      masked(TokenFile(opened, TokenRange{*type, 0, opened.size() / width}, format.vocabulary), file.path));
}

}  // namespace

bool has_mask(const fs::path& file) {
  std::error_code code;
  return fs::symlink_status(mask_path(file), code).type() != fs::file_type::not_found;  // opening it refuses others
}

DatasetPtr read_tokens(const TokenPath& file, Split split, const TextFormat& format) {
  const fs::path index = find_index(file.path);
  TokenSourcePtr tokens = !index.empty()                    ? open_indexed(file, index, split, format)
                          : file.path.extension() == ".npy" ? open_npy(file, format)
                                                            : open_flat(file, format);
  if (tokens->has_mask() && format.task == TextTask::continuation) {
    throw InvalidArgument(
        "[tokens] '{}' has a mask, got a model that reads its labels, too, expected one that predicts the next token, "
        "or no mask",
        file.path.string());
  }
  if (format.separates_documents && !tokens->has_documents()) {
    throw InvalidArgument(
        "[--separate-documents] '{}' has no documents, got ids without an .idx, expected one: partita tokenize writes "
        "it",
        file.path.string());
  }
  if (tokens->size() < format.window()) {
    throw InvalidFile("[tokens] '{}' is too short, got {} ids for {}, expected more than {}", file.path.string(),
                      tokens->size(), split == Split::train ? "training" : "testing", format.window() - 1);
  }
  return token_rows(std::move(tokens), format);
}

}  // namespace partita

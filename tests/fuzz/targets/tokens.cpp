// Files of token ids.

#include <cstring>

#include "cli/tokenizers/byte_pairs.h"
#include "cli/tokenizers/tokenizer.h"
#include "frontend/data/readers/npy_file.h"
#include "frontend/data/readers/numpy_files.h"
#include "frontend/data/readers/token_files.h"
#include "fuzz/files.h"
#include "fuzz/target.h"

namespace partita {
namespace {

/// Reads the first and the last row of two epochs.
void read_some_rows(const Dataset& rows) {
  require(rows.size() > 0, "no rows");
  for (const int64_t epoch : {0, 1}) {
    rows.row(epoch, 0);
    rows.row(epoch, rows.size() - 1);
  }
}

std::string npy_of_ids(const std::string& descr, const std::string& shape, const std::string& data) {
  const std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}\n", descr, shape);
  return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(text.size()) + std::string(1, '\0') + text + data;
}

std::string little_endian(std::initializer_list<uint64_t> numbers, int width) {
  std::string bytes;
  for (const uint64_t number : numbers) {
    for (int i = 0; i < width; ++i) bytes += static_cast<char>(number >> (8 * i));
  }
  return bytes;
}

/// An index of three documents in Megatron's format, their ids, u16 or i32, and a mask.
std::string some_documents(bool is_u16) {
  const uint64_t width = is_u16 ? 2 : 4;
  const std::string index = std::string("MMIDIDX\0\0", 9) + little_endian({1}, 8) +
                            little_endian({is_u16 ? 8U : 4U}, 1) + little_endian({3, 4}, 8) +
                            little_endian({5, 0, 7}, 4) + little_endian({0, 5 * width, 5 * width}, 8) +
                            little_endian({0, 1, 2, 3}, 8);
  const std::string mask = "PARTMASK" + little_endian({1, 12}, 8) + "\x0f\x05";
  return joined({index, std::string(12 * width, '\1'), mask});
}

void read_documents(const std::string& input) {
  const std::vector<std::string> parts = split_parts(input, 3);
  const std::filesystem::path path = input_folder().write("documents.idx", parts[0]);
  input_folder().write("documents.bin", parts[1]);
  input_folder().write("documents.mask", parts[2]);
  for (const Split split : {Split::train, Split::test}) {
    const DatasetPtr rows = read_tokens({path}, split, {.tokens = 4});
    require(rows->size() * 4 <= static_cast<int64_t>(parts[1].size()), "more rows than the file has");
    read_some_rows(*rows);
  }
}

/// The first byte says which form the file has.
void read_flat_tokens(const std::string& input) {
  if (input.empty()) return;
  const std::string ending = input[0] == 'n' ? ".npy" : input[0] == '2' ? ".u16" : ".u32";
  const std::filesystem::path path = input_folder().write("tokens" + ending, std::string_view(input).substr(1));
  read_some_rows(*read_tokens({path}, Split::train, {.tokens = 3, .vocabulary = 1 << 16}));
}

/// Elements that are read in place are those of the array.
void read_npy_in_place(const std::string& input) {
  const std::filesystem::path path = input_folder().write("place.npy", input);
  const NpyFile file(path);
  const Array array = read_npy(path);
  require(array.type() == file.type(), "another type");
  const int64_t count = file.type().elements(), first = count / 3;
  Array part(Type{file.type().dtype, {count - first}});
  file.read(first, count - first, part.data());
  const auto bytes = static_cast<size_t>(part.type().bytes());
  const auto* from =
      static_cast<const std::byte*>(array.data()) + first * static_cast<int64_t>(size_of(part.type().dtype));
  require(bytes == 0 || std::memcmp(part.data(), from, bytes) == 0, "other elements");
}

/// A tokenizer.json with two merges and the words of Llama 3.
std::string some_tokenizer() {
  std::string vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    std::string token = character_of(static_cast<uint8_t>(byte));
    if (token == "\"" || token == "\\") token.insert(0, "\\");
    vocabulary += fmt::format("\"{}\": {}, ", token, byte);
  }
  return fmt::format(
      R"({{"normalizer": {{"type": "NFC"}}, "pre_tokenizer": {{"type": "Sequence", "pretokenizers": [)"
      R"({{"type": "Split", "pattern": {{"Regex": "(?i:'s|'t)|[^\\r\\n\\p{{L}}\\p{{N}}]?\\p{{L}}+|\\p{{N}}{{1,3}}|)"
      R"(\\s+(?!\\S)|\\s+"}}, )"
      R"("behavior": "Isolated"}}, {{"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}}]}}, )"
      R"("model": {{"type": "BPE", "ignore_merges": true, "vocab": {{{}"he": 256, "the": 257}}, )"
      R"("merges": ["h e", ["t", "he"]]}}, "added_tokens": [{{"id": 300, "content": "<|end|>", "lstrip": true}}]}})",
      vocabulary);
}

void read_tokenizer(const std::string& input) {
  const auto tokenizer = parse_json_tokenizer(input, "input");
  std::vector<int32_t> ids;
  tokenizer->encode("The other's  \xc3\xa9 e\xcc\x81 1234\r\n <|end|> the", ids);
  for (const int32_t id : ids) require(id >= 0 && id < tokenizer->vocabulary(), "an id beyond the vocabulary");
}

}  // namespace

std::vector<FuzzTarget> tokens_targets() {
  const std::vector<std::string> words{"'descr': '<u2'", "'<i8'", "'shape': (3,)", "(2, 3)"};
  return {{.name = "documents",
           .seeds =
               [] {
                 return std::vector{some_documents(true), some_documents(false)};
               },
           .read = read_documents,
           .words = {"MMIDIDX", "PARTMASK"}},
          {.name = "tokens",
           .seeds =
               [] {
                 return std::vector{"2" + std::string(20, '\1'), "4" + little_endian({1, 2, 3, 4, 65535}, 4),
                                    "n" + npy_of_ids("<u2", "(8,)", std::string(16, '\2')),
                                    "n" + npy_of_ids("<i8", "(5,)", little_endian({1, 2, 3, 4, 5}, 8))};
               },
           .read = read_flat_tokens,
           .words = words},
          {.name = "npy_in_place",
           .seeds =
               [] {
                 return std::vector{npy_of_ids("<i2", "(2, 3)", std::string(12, '\2')),
                                    npy_of_ids("<f4", "(3,)", std::string(12, '\2')),
                                    npy_of_ids("|b1", "(4,)", std::string(4, '\2'))};
               },
           .read = read_npy_in_place,
           .words = words},
          {.name = "tokenizer",
           .seeds = [] { return std::vector{some_tokenizer()}; },
           .read = read_tokenizer,
           .words = {"\"ByteLevel\"", "\"Removed\"", "\"Digits\"", "NFKD", "\\p{L}", "(?=", "[^", "true"}}};
}

}  // namespace partita

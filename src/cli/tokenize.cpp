// partita tokenize: files of token ids from texts.

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/bounded_json.h"
#include "cli/command_line.h"
#include "cli/output_files.h"
#include "cli/tokenizers/indexed_writer.h"
#include "cli/tokenizers/tokenizer.h"
#include "cli/tokenizers/unicode_text.h"
#include "frontend/data/readers/file_bytes.h"

namespace partita {
namespace {

constexpr int64_t kMaxDocumentBytes = int64_t{1} << 30;

struct TokenizeFlags {
  std::vector<std::string> inputs{};
  std::string tokenizer{}, out{}, key = "text", start{}, end{};
};

std::string without_packing(const std::string& path) {
  for (const std::string_view ending : {".gz", ".xz"}) {
    if (path.ends_with(ending)) return path.substr(0, path.size() - ending.size());
  }
  return path;
}

/// Returns the name of the written files, without ".bin" or ".idx".
std::string name_of_output(const std::string& out) {
  return out.ends_with(".bin") || out.ends_with(".idx") ? out.substr(0, out.size() - 4) : out;
}

/// Tokenizes documents one after another and writes them.
class DocumentWriter {
 public:
  DocumentWriter(const TokenizeFlags& flags, Tokenizer& tokenizer, IndexedWriter& writer)
      : flags_(flags), tokenizer_(tokenizer), writer_(writer) {
    if (!flags.start.empty()) start_ = id_of("--start", flags.start);
    if (!flags.end.empty()) end_ = id_of("--end", flags.end);
  }

  /// Reads a file: with the ending .jsonl, a document per line, else one document.
  void add_file(const std::string& path) {
    if (without_packing(path).ends_with(".jsonl")) return add_lines(path);
    const std::vector<uint8_t> bytes = read_file(path, kMaxDocumentBytes);
    add({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
  }

 private:
  int32_t id_of(std::string_view flag, const std::string& token) const {
    if (const std::optional<int32_t> id = tokenizer_.id_of(token)) return *id;
    throw InvalidArgument("[{}] unknown token, got '{}', expected one of '{}'", flag, token, flags_.tokenizer);
  }

  void add_lines(const std::string& path) {
    PackedFile file(path);
    std::string line;
    int64_t number = 0;
    std::vector<uint8_t> piece(1 << 20);
    for (size_t bytes = file.read(std::span(piece)); bytes > 0; bytes = file.read(std::span(piece))) {
      std::string_view rest(reinterpret_cast<const char*>(piece.data()), bytes);
      for (size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
        line += rest.substr(0, end);
        add_line(line, path, ++number);
        line.clear();
        rest.remove_prefix(end + 1);
      }
      line += rest;
      if (static_cast<int64_t>(line.size()) > kMaxDocumentBytes) {
        throw InvalidFile("[tokenize] '{}' line {}: too long, got more than {} bytes, expected at most that", path,
                          number + 1, kMaxDocumentBytes);
      }
    }
    if (!line.empty()) add_line(line, path, number + 1);
  }

  void add_line(const std::string& line, const std::string& path, int64_t number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) return;
    const std::string where = fmt::format("{}' line {}", path, number);
    try {
      const nlohmann::json document = parse_bounded_json(line);
      const auto found = document.is_object() ? document.find(flags_.key) : document.end();
      if (!document.is_object() || found == document.end() || !found->is_string()) {
        throw InvalidFile("[tokenize] '{}: no text, got {}, expected an object with a string '{}'", where,
                          document.is_object() ? "an object without it" : document.type_name(), flags_.key);
      }
      add(found->get_ref<const std::string&>(), where);
    } catch (const BadJson& error) {
      throw InvalidFile("[tokenize] '{}: no JSON, got {}, expected an object", where, error.what());
    }
  }

  void add(std::string_view text, const std::string& where) {
    if (text.empty()) return;
    if (!tokenizer_.takes_any_bytes()) {
      if (const std::optional<size_t> at = find_invalid_utf8(text)) {
        throw InvalidFile("[tokenize] '{}': not UTF-8, got {:02x} at byte {} of a document, expected UTF-8", where,
                          static_cast<uint8_t>(text[*at]), *at);
      }
    }
    ids_.clear();
    if (start_) ids_.push_back(*start_);
    tokenizer_.encode(text, ids_);
    if (end_) ids_.push_back(*end_);
    writer_.add(ids_);
  }

  const TokenizeFlags& flags_;
  Tokenizer& tokenizer_;
  IndexedWriter& writer_;
  std::optional<int32_t> start_{}, end_{};
  std::vector<int32_t> ids_{};
};

void run_tokenize(const TokenizeFlags& flags) {
  const std::string name = name_of_output(flags.out);
  std::vector<FlagFile> read{{"--tokenizer", flags.tokenizer == "bytes" ? "" : flags.tokenizer}};
  for (const std::string& input : flags.inputs) read.push_back({"INPUT", input});
  require_outputs({{"--out", name + ".bin"}, {"--out", name + ".idx"}}, read);
  const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(flags.tokenizer);
  const TokenType type = tokenizer->vocabulary() <= (1 << 16) ? TokenType::u16 : TokenType::i32;
  IndexedWriter writer(name, type);
  DocumentWriter documents(flags, *tokenizer, writer);
  for (const std::string& input : flags.inputs) documents.add_file(input);
  if (writer.documents() == 0) {
    throw InvalidFile("[tokenize] no documents, got {} files without a text, expected one or more",
                      flags.inputs.size());
  }
  writer.finish();
  std::cout << fmt::format("{} documents, {} ids below {} as {} in {}.bin and {}.idx\n", writer.documents(),
                           writer.tokens(), tokenizer->vocabulary(), name_of(type), name, name);
}

}  // namespace

void add_tokenize(CLI::App& app) {
  const auto flags = std::make_shared<TokenizeFlags>();
  CLI::App* command =
      add_command(app, "tokenize", "Write the token ids of texts to a file for training", flags, run_tokenize);
  command->add_option("INPUT", flags->inputs, "Texts in UTF-8, also .gz or .xz; .jsonl: a document per line")
      ->required();
  command
      ->add_option("--tokenizer", flags->tokenizer,
                   "A tokenizer.json of byte-level BPE, a SentencePiece model (.model, .spm), or bytes")
      ->required();
  command->add_option("--out", flags->out, "Name of the files: NAME.bin and NAME.idx, in Megatron's format")
      ->required();
  command->add_option("--key", flags->key, "Key of the text in lines of .jsonl")->capture_default_str();
  command->add_option("--start", flags->start, "Token before each document, such as <s>");
  command->add_option("--end", flags->end, "Token after each document, such as <|endoftext|>");
  command->footer(
      "Example: partita tokenize corpus.jsonl --tokenizer tokenizer.json --out train --end '<|endoftext|>'");
}

}  // namespace partita

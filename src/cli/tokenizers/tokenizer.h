#pragma once
// Tokenizers: what makes token ids of texts.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace partita {

/// Makes token ids of texts. Keeps a cache, so threads do not share it.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  /// Appends the ids of a text, which is valid UTF-8 unless `takes_any_bytes`, to `ids`. Throws InvalidFile if the text
  /// cannot be split by the tokenizer's patterns.
  virtual void encode(std::string_view text, std::vector<int32_t>& ids) = 0;
  /// Appends the ids of a text that goes on with the text of `ids`: no space is put before it, unless the last id is a
  /// special token after which `encode` puts one. Throws as `encode` does.
  virtual void encode_continued(std::string_view text, std::vector<int32_t>& ids) { encode(text, ids); }
  /// Returns the text of ids, each of which is one of the tokenizer's or has no text. It may end within a character.
  virtual std::string decode(const std::vector<int32_t>& ids) const = 0;
  /// Returns the smallest number that is above all ids.
  virtual int64_t vocabulary() const = 0;
  /// Returns the id of a whole token, if there is one that is called so.
  virtual std::optional<int32_t> id_of(const std::string& token) const = 0;
  virtual bool takes_any_bytes() const { return false; }
  /// Whether special tokens in a text, such as <s>, become their ids.
  virtual bool finds_special_tokens() const { return false; }
};

/// Returns the tokenizer that `name` stands for: "bytes", a file of Hugging Face's tokenizers (.json), or a model of
/// SentencePiece (.model, .spm). Throws MissingFile if a file cannot be read, InvalidFile if it is damaged or does what
/// is not supported, InvalidArgument for another name, or if SentencePiece is not built in.
std::unique_ptr<Tokenizer> open_tokenizer(const std::string& name);

/// Returns the byte-level BPE of a tokenizer.json. `where` names the file in messages. Throws InvalidFile if the text
/// is no JSON, a part of it is missing or wrong, or it does what is not supported.
std::unique_ptr<Tokenizer> parse_json_tokenizer(std::string_view json, const std::string& where);

/// Returns the tokenizer of a SentencePiece model. `where` names the file in messages. Throws InvalidFile if the bytes
/// are no model, InvalidArgument if the module with its library is not there.
std::unique_ptr<Tokenizer> parse_sentence_pieces(std::string_view model, const std::string& where);

}  // namespace partita

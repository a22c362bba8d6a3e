#include "cli/tokenizers/tokenizer.h"

#include "base/error.h"
#include "frontend/data/readers/file_bytes.h"

namespace partita {
namespace {

constexpr int64_t kMaxTokenizerBytes = int64_t{256} << 20;

/// The bytes of a text are its ids.
class ByteTokenizer : public Tokenizer {
 public:
  void encode(std::string_view text, std::vector<int32_t>& ids) override {
    for (const char byte : text) ids.push_back(static_cast<uint8_t>(byte));
  }
  std::string decode(const std::vector<int32_t>& ids) const override { return {ids.begin(), ids.end()}; }
  int64_t vocabulary() const override { return 256; }
  std::optional<int32_t> id_of(const std::string&) const override { return std::nullopt; }
  bool takes_any_bytes() const override { return true; }
};

}  // namespace

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& name) {
  if (name == "bytes") return std::make_unique<ByteTokenizer>();
  const bool is_json = name.ends_with(".json");
  if (!is_json && !name.ends_with(".model") && !name.ends_with(".spm")) {
    throw InvalidArgument(
        "[--tokenizer] unknown tokenizer, got '{}', expected bytes, a tokenizer.json, or a SentencePiece model that "
        "ends in .model or .spm",
        name);
  }
  const std::vector<uint8_t> bytes = read_file(name, kMaxTokenizerBytes);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return is_json ? parse_json_tokenizer(text, name) : parse_sentence_pieces(text, name);
}

}  // namespace partita

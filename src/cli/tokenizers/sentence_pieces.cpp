// Models of SentencePiece, read by its library in a module (cli/sentencepiece).

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "base/error.h"
#include "cli/sentencepiece/pieces_api.h"
#include "cli/tokenizers/tokenizer.h"

namespace partita {
namespace {

/// Loads the module, which stays loaded. It is next to the program, or in ../lib/partita of it. Returns null if it is
/// not there or cannot be loaded.
const PartitaPiecesApi* load_pieces() {
  std::error_code code;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", code).parent_path();
  for (const std::filesystem::path& path : {folder / kPiecesModule, folder / "../lib/partita" / kPiecesModule}) {
    void* module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (module == nullptr) continue;
    const auto api = reinterpret_cast<decltype(&partita_pieces_api)>(::dlsym(module, "partita_pieces_api"));
    if (api != nullptr) return api();
  }
  return nullptr;
}

class SentencePieces : public Tokenizer {
 public:
  SentencePieces(const PartitaPiecesApi& api, std::string_view model, const std::string& where)
      : api_(api), pieces_(api.open(model.data(), model.size()), api.close) {
    if (pieces_ != nullptr) return;
    throw InvalidFile("[tokenizer] '{}' is no SentencePiece model, got {} bytes, expected a model", where,
                      model.size());
  }

  void encode(std::string_view text, std::vector<int32_t>& ids) override {
    const auto add = [](void* to, int32_t id) { static_cast<std::vector<int32_t>*>(to)->push_back(id); };
    if (api_.encode(pieces_.get(), text.data(), text.size(), add, &ids)) return;
    throw InvalidFile("[tokenizer] SentencePiece cannot encode a text, got one of {} bytes, expected ids", text.size());
  }
  /// A model puts a space before a text, and may strip others. So the text is encoded after one whose ids stay the
  /// same.
  void encode_continued(std::string_view text, std::vector<int32_t>& ids) override {
    for (const std::string before : {"\n", "<unk>", "."}) {
      std::vector<int32_t> first, both;
      encode(before, first);
      encode(before + std::string(text), both);
      if (first.empty() || !std::ranges::equal(first, std::span(both).first(std::min(first.size(), both.size())))) {
        continue;
      }
      ids.insert(ids.end(), both.begin() + std::ssize(first), both.end());
      return;
    }
    encode(text, ids);
  }
  std::string decode(const std::vector<int32_t>& ids) const override {
    std::string text;
    const auto add = [](void* to, const char* part, size_t bytes) {
      static_cast<std::string*>(to)->append(part, bytes);
    };
    api_.decode(pieces_.get(), ids.data(), ids.size(), add, &text);
    return text;
  }
  int64_t vocabulary() const override { return api_.size(pieces_.get()); }
  std::optional<int32_t> id_of(const std::string& token) const override {
    const int32_t id = api_.id_of(pieces_.get(), token.c_str());
    return id >= 0 ? std::optional(id) : std::nullopt;
  }

 private:
  const PartitaPiecesApi& api_;
  std::unique_ptr<void, void (*)(void*)> pieces_;
};

}  // namespace

std::unique_ptr<Tokenizer> parse_sentence_pieces(std::string_view model, const std::string& where) {
  if (const PartitaPiecesApi* api = load_pieces()) return std::make_unique<SentencePieces>(*api, model, where);
  throw InvalidArgument(
      "[--tokenizer] SentencePiece is not built in, got '{}', expected {} next to the program, from a build with the "
      "package libsentencepiece-dev",
      where, kPiecesModule);
}

}  // namespace partita

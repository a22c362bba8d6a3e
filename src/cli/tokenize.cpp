// partita tokenize: files of token ids from texts.

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/bounded_json.h"
#include "base/is_folder.h"
#include "cli/chat/conversation_encoder.h"
#include "cli/command_line.h"
#include "cli/output_files.h"
#include "cli/tokenizers/indexed_writer.h"
#include "cli/tokenizers/tokenizer.h"
#include "cli/tokenizers/unicode_text.h"
#include "frontend/data/readers/file_bytes.h"
#include "frontend/data/readers/token_mask.h"

namespace partita {
namespace {

constexpr int64_t kMaxDocumentBytes = int64_t{1} << 30;
constexpr std::string_view kBytesTokenizer = "bytes";

struct TokenizeFlags {
  std::vector<std::string> inputs{};
  std::string tokenizer{}, out{}, key = "text", start{}, end{}, chat_template{};
};

std::string without_packing(const std::string& path) {
  for (const std::string_view ending : {".gz", ".xz"}) {
    if (path.ends_with(ending)) return path.substr(0, path.size() - ending.size());
  }
  return path;
}

bool has_lines(const std::string& path) { return without_packing(path).ends_with(".jsonl"); }

/// Returns the path of the chat template: that of the flag, or the folder of the tokenizer.
std::string template_path(const TokenizeFlags& flags) {
  if (!flags.chat_template.empty()) return flags.chat_template;
  const std::filesystem::path folder = std::filesystem::path(flags.tokenizer).parent_path();
  return folder.empty() ? "." : folder.string();
}

/// Returns the name of the written files, without ".bin" or ".idx".
std::string name_of_output(const std::string& out) {
  return out.ends_with(".bin") || out.ends_with(".idx") ? out.substr(0, out.size() - 4) : out;
}

/// Tokenizes documents one after another and writes them.
class DocumentWriter {
 public:
  /// `chat` is null if there is no chat template.
  DocumentWriter(const TokenizeFlags& flags, Tokenizer& tokenizer, ConversationEncoder* chat, IndexedWriter& writer)
      : flags_(flags), tokenizer_(tokenizer), chat_(chat), writer_(writer) {
    if (!flags.start.empty()) start_ = id_of("--start", flags.start);
    if (!flags.end.empty()) end_ = id_of("--end", flags.end);
  }

  /// Reads a file: with the ending .jsonl, a document per line, else one document.
  void add_file(const std::string& path) {
    if (has_lines(path)) return add_lines(path);
    const std::vector<uint8_t> bytes = read_file(path, kMaxDocumentBytes);
    add({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, fmt::format("'{}'", path));
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
    const std::string where = fmt::format("'{}' line {}", path, number);
    try {
      add_document(parse_bounded_json(line), line, where);
    } catch (const BadJson& error) {
      throw InvalidFile("[tokenize] {}: no JSON, got {}, expected an object", where, error.what());
    }
  }

  void add_document(const nlohmann::json& document, const std::string& line, const std::string& where) {
    const auto text_of = [&](const std::string& key) -> const std::string* {
      const auto found = document.is_object() ? document.find(key) : document.end();
      const bool has_text = document.is_object() && found != document.end() && found->is_string();
      return has_text ? found->get_ptr<const std::string*>() : nullptr;
    };
    if (const std::string* text = text_of(flags_.key)) return add(*text, where);
    const std::string *prompt = text_of("prompt"), *completion = text_of("completion");
    if (prompt != nullptr && completion != nullptr) return add_pair(*prompt, *completion);
    if (document.is_object() && document.contains("messages")) {
      require_conversation(document, where);
      return add_conversation({.json = line, .where = where, .is_in_file = true});
    }
    throw InvalidFile(
        "[tokenize] {}: no text, got {}, expected an object with a string '{}', with strings 'prompt' and "
        "'completion', or with 'messages'",
        where, document.is_object() ? "an object without it" : document.type_name(), flags_.key);
  }

  void add(std::string_view text, const std::string& where) {
    if (text.empty()) return;
    if (!tokenizer_.takes_any_bytes()) {
      if (const std::optional<size_t> at = find_invalid_utf8(text)) {
        throw InvalidFile("[tokenize] {}: not UTF-8, got {:02x} at byte {} of a document, expected UTF-8", where,
                          static_cast<uint8_t>(text[*at]), *at);
      }
    }
    ids_.clear();
    if (start_) ids_.push_back(*start_);
    tokenizer_.encode(text, ids_);
    if (end_) ids_.push_back(*end_);
    writer_.add(ids_);
  }

  /// Adds a prompt, which is no target, and what follows it.
  void add_pair(const std::string& prompt, const std::string& completion) {
    if (prompt.empty() && completion.empty()) return;
    ids_.clear();
    if (start_) ids_.push_back(*start_);
    tokenizer_.encode(prompt, ids_);
    is_target_.assign(ids_.size(), false);
    if (prompt.empty()) {
      tokenizer_.encode(completion, ids_);
    } else {
      tokenizer_.encode_continued(completion, ids_);
    }
    if (end_) ids_.push_back(*end_);
    is_target_.resize(ids_.size(), true);
    writer_.add(ids_, is_target_);
  }

  void add_conversation(const Conversation& conversation) {
    if (chat_ == nullptr) {
      if (flags_.tokenizer != kBytesTokenizer) read_chat_template(template_path(flags_));  // throws why there is none
      throw InvalidArgument("[tokenize] {}: a conversation, got no chat template, expected --chat-template PATH",
                            conversation.where);
    }
    ids_.clear();
    is_target_.clear();
    chat_->encode(conversation, ids_, is_target_);
    if (!ids_.empty()) writer_.add(ids_, is_target_);
  }

  const TokenizeFlags& flags_;
  Tokenizer& tokenizer_;
  ConversationEncoder* chat_;
  IndexedWriter& writer_;
  std::optional<int32_t> start_{}, end_{};
  std::vector<int32_t> ids_{};
  std::vector<bool> is_target_{};
};

/// Returns what encodes conversations: by the template of the flag, or by that of the tokenizer's folder; null if there
/// is none. Throws InvalidArgument for a flag without effect, and as read_chat_template does for that of the flag.
std::unique_ptr<ConversationEncoder> conversation_encoder(const TokenizeFlags& flags,
                                                          const std::shared_ptr<Tokenizer>& tokenizer) {
  const bool reads_lines = std::ranges::any_of(flags.inputs, has_lines), is_given = !flags.chat_template.empty();
  if (is_given && !reads_lines) {
    throw InvalidArgument("[--chat-template] has no effect, got no conversations, expected a file of lines (.jsonl)");
  }
  if (!reads_lines || (!is_given && flags.tokenizer == kBytesTokenizer)) return nullptr;
  try {
    return std::make_unique<ConversationEncoder>(read_chat_template(template_path(flags)), tokenizer, flags.tokenizer);
  } catch (const Error&) {  // texts need none, so files of the tokenizer's folder may be of any kind
    if (is_given) throw;
    return nullptr;
  }
}

/// Checks that the files of the name may be replaced. Throws as require_outputs does, and InvalidArgument if the mask
/// is a file of another kind.
void require_token_outputs(const TokenizeFlags& flags, const std::string& name) {
  std::vector<FlagFile> read{{"--tokenizer", flags.tokenizer == kBytesTokenizer ? "" : flags.tokenizer},
                             {"--chat-template", is_folder(flags.chat_template) ? "" : flags.chat_template}};
  for (const std::string& input : flags.inputs) read.push_back({"INPUT", input});
  const std::string mask = name + ".mask";
  require_outputs({{"--out", name + ".bin"}, {"--out", name + ".idx"}, {"--out", mask}}, read);
  std::error_code failure;
  if (!std::filesystem::exists(mask, failure) || is_mask(mask)) return;
  throw InvalidArgument("[--out] {} would be replaced, got a file that is no mask of ids, expected another name", mask);
}

void run_tokenize(const TokenizeFlags& flags) {
  const std::string name = name_of_output(flags.out);
  require_token_outputs(flags, name);
  const std::shared_ptr<Tokenizer> tokenizer = open_tokenizer(flags.tokenizer);
  const std::unique_ptr<ConversationEncoder> chat = conversation_encoder(flags, tokenizer);
  const int64_t vocabulary = std::max(tokenizer->vocabulary(), chat == nullptr ? 0 : chat->vocabulary());
  const TokenType type = vocabulary <= (1 << 16) ? TokenType::u16 : TokenType::i32;
  IndexedWriter writer(name, type);
  DocumentWriter documents(flags, *tokenizer, chat.get(), writer);
  for (const std::string& input : flags.inputs) documents.add_file(input);
  if (writer.documents() == 0) {
    throw InvalidFile("[tokenize] no documents, got {} files without a text, expected one or more",
                      flags.inputs.size());
  }
  if (writer.targets() == 0) {
    throw InvalidFile("[tokenize] no targets, got {} documents that are prompts alone, expected answers, too",
                      writer.documents());
  }
  writer.finish();
  const bool is_masked = writer.targets() < writer.tokens();
  std::cout << fmt::format("{} documents, {} ids below {} as {} in {}.bin and {}.idx{}\n", writer.documents(),
                           writer.tokens(), vocabulary, name_of(type), name, name,
                           is_masked ? fmt::format(", {} targets by {}.mask", writer.targets(), name) : "");
}

}  // namespace

void add_tokenize(CLI::App& app) {
  const auto flags = std::make_shared<TokenizeFlags>();
  CLI::App* command =
      add_command(app, "tokenize", "Write the token ids of texts to a file for training", flags, run_tokenize);
  command
      ->add_option("INPUT", flags->inputs,
                   "Texts in UTF-8, also .gz or .xz; .jsonl: a document per line, an object with a text, with prompt "
                   "and completion, or with messages")
      ->required();
  command
      ->add_option("--tokenizer", flags->tokenizer,
                   "A tokenizer.json of byte-level BPE, a SentencePiece model (.model, .spm), or bytes")
      ->required();
  command
      ->add_option(
          "--out", flags->out,
          "Name of the files: NAME.bin and NAME.idx, in Megatron's format, and NAME.mask if not all are targets")
      ->required();
  command->add_option("--key", flags->key, "Key of the text in lines of .jsonl")->capture_default_str();
  command->add_option("--start", flags->start, "Token before each text or prompt, such as <s>");
  command->add_option("--end", flags->end, "Token after each text or completion, such as <|endoftext|>");
  command
      ->add_option("--chat-template", flags->chat_template,
                   "Folder with the chat template of messages, or a file that is one; default: the tokenizer's folder")
      ->type_name("PATH");
  command->footer(
      "Example: partita tokenize corpus.jsonl --tokenizer tokenizer.json --out train --end '<|endoftext|>'");
}

}  // namespace partita

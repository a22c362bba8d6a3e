#pragma once
// The prompt of `partita generate` that a conversation makes.

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/tokenizers/tokenizer.h"

namespace partita {

struct ChatFlags {
  std::string text{}, file{};   // --chat, --chat-file
  std::string chat_template{};  // --chat-template
  bool ignores_ends = false;    // --ignore-eos
};

/// Adds the flags of conversations to `command`, which has --prompt and --prompts. `flags` must live until it is
/// parsed.
void add_chat_flags(CLI::App& command, ChatFlags& flags);

/// Where a template is searched if no flag names one; "" for what is not given.
struct ChatSources {
  std::string weights{}, model{};  // "hf:DIR.."; others do not count
  std::string tokenizer{};         // file of the tokenizer
};

/// Where a text begins, and where it ends.
struct ChatPrompt {
  std::vector<int32_t> ids{};
  std::set<int32_t> ends{};  // tokens that end the text
};

/// Renders the conversation of the flags, and encodes it. `tokenizer` becomes one that finds the special tokens of the
/// template's folder, by their numbers if that is the folder of weights, model or tokenizer. The answer ends at the
/// eos_token_id of these folders and at the template's eos_token, unless the flags ignore them. Returns nothing if the
/// flags give no conversation. Throws InvalidArgument for flags that need one, and if there is no folder with a
/// template; MissingFile and InvalidFile for files that are missing or damaged, or if the prompt has a token that is
/// not below `vocabulary`; and as ChatRenderer does.
std::optional<ChatPrompt> chat_prompt(const ChatFlags& flags, const ChatSources& sources,
                                      std::unique_ptr<Tokenizer>& tokenizer, int64_t vocabulary);

}  // namespace partita

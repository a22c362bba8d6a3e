#pragma once
// Chat templates of folders of Hugging Face: programs that make one text of a conversation.

#include <map>
#include <string>
#include <vector>

#include "cli/tokenizers/added_tokens.h"

namespace partita {

/// A template, and the special tokens of its folder.
struct ChatTemplate {
  std::string where{};                          // file of the template, for messages
  std::string text{};                           // in the language of Jinja
  std::string tool_text{};                      // for conversations with tools; "": `text`
  std::map<std::string, std::string> tokens{};  // texts by their name: "bos_token" -> "<s>"
  std::vector<std::string> more_tokens{};       // texts of "additional_special_tokens"
  std::vector<AddedToken> special{};            // all special tokens; id -1: that of the tokenizer for the text
  bool begins_anew = true;                      // "legacy": whether a new text begins after a special token
};

/// Reads the template of a folder: chat_template.jinja, else "chat_template" of tokenizer_config.json, a text or a list
/// of named texts, of which "default" and "tool_use" are taken. Or reads a file that is a template alone; its folder
/// has the special tokens then. They come from tokenizer_config.json and special_tokens_map.json. Throws MissingFile if
/// there is no template, InvalidFile if a file is damaged.
ChatTemplate read_chat_template(const std::string& path);

/// Returns the numbers "eos_token_id" of generation_config.json and of config.json in a folder, as far as these are
/// there. Throws InvalidFile if a file is damaged or has another value than numbers.
std::vector<int32_t> end_ids_of(const std::string& folder);

}  // namespace partita

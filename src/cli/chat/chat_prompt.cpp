#include "cli/chat/chat_prompt.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/is_folder.h"
#include "base/same_file.h"
#include "cli/chat/chat_renderer.h"
#include "cli/tokenizers/special_tokens.h"
#include "zoo/hugging_face/folder.h"

namespace partita {
namespace {

std::string parent_of(const std::string& file) {
  const std::string parent = std::filesystem::path(file).parent_path().string();
  return parent.empty() ? "." : parent;
}

/// Whether a file is a tokenizer with a vocabulary of its own.
bool has_vocabulary(const std::string& tokenizer) {
  return tokenizer.ends_with(".json") || tokenizer.ends_with(".model");
}

/// Returns the folders of Hugging Face that weights and model are in.
std::vector<std::string> folders_of(const ChatSources& sources) {
  std::vector<std::string> folders;
  if (!sources.weights.empty() && is_hugging_face(sources.weights)) {
    folders.push_back(hugging_face_folder(sources.weights));
  }
  if (sources.model.starts_with(kHuggingFace)) folders.push_back(read_hugging_face_model(sources.model).folder);
  return folders;
}

/// Whether a template, a folder or a file, is that of one of the folders.
bool is_in(const std::string& path, const std::vector<std::string>& folders) {
  const std::string named = hugging_face_folder(path), folder = is_folder(named) ? named : parent_of(named);
  return std::ranges::any_of(folders, [&](const std::string& one) { return same_file(one, folder); });
}

void refuse_without_chat(const ChatFlags& flags) {
  const auto refuse = [](const char* flag) {
    throw InvalidArgument("[{}] has no effect, got no conversation, expected --chat TEXT or --chat-file FILE", flag);
  };
  if (!flags.chat_template.empty()) refuse("--chat-template");
  if (flags.ignores_ends) refuse("--ignore-eos");
}

std::string template_path(const ChatFlags& flags, const ChatSources& sources, const std::vector<std::string>& folders) {
  if (!flags.chat_template.empty()) return flags.chat_template;
  if (!folders.empty()) return folders.front();
  if (has_vocabulary(sources.tokenizer)) return parent_of(sources.tokenizer);
  throw InvalidArgument(
      "[generate] no chat template, got neither weights in a folder of Hugging Face nor a tokenizer, expected "
      "--chat-template PATH");
}

}  // namespace

void add_chat_flags(CLI::App& command, ChatFlags& flags) {
  CLI::Option* text = command.add_option("--chat", flags.text, "Answer this message of a user, by the chat template");
  CLI::Option* file = command.add_option("--chat-file", flags.file,
                                         "Answer a conversation: JSON with a list of messages, each with role and "
                                         "content");
  text->type_name("TEXT")->excludes("--prompt")->excludes("--prompts");
  file->type_name("FILE")->excludes("--prompt")->excludes("--prompts")->excludes("--chat");
  command
      .add_option("--chat-template", flags.chat_template,
                  "Folder with the chat template, or a file that is one; default: the folder of the weights")
      ->type_name("PATH");
  command.add_flag("--ignore-eos", flags.ignores_ends, "Go on after a token that ends an answer");
}

std::optional<ChatPrompt> chat_prompt(const ChatFlags& flags, const ChatSources& sources,
                                      std::unique_ptr<Tokenizer>& tokenizer, int64_t vocabulary) {
  if (flags.text.empty() && flags.file.empty()) {
    refuse_without_chat(flags);
    return std::nullopt;
  }
  std::vector<std::string> folders = folders_of(sources);
  const std::string path = template_path(flags, sources, folders);
  const Conversation conversation =
      flags.file.empty() ? conversation_of_text("--chat", flags.text) : read_conversation(flags.file);
  if (has_vocabulary(sources.tokenizer)) folders.push_back(parent_of(sources.tokenizer));
  ChatTemplate chat = read_chat_template(path);
  if (!is_in(path, folders)) {  // numbers of another vocabulary
    for (AddedToken& token : chat.special) token.id = -1;
  }
  tokenizer = with_special_tokens(std::move(tokenizer), chat.special, chat.begins_anew);
  ChatPrompt prompt;
  if (!flags.ignores_ends) {
    for (const std::string& folder : folders) {
      for (const int32_t id : end_ids_of(folder)) prompt.ends.insert(id);
    }
    const auto named_end = chat.tokens.find("eos_token");
    if (named_end != chat.tokens.end()) {
      if (const std::optional<int32_t> id = tokenizer->id_of(named_end->second)) prompt.ends.insert(*id);
    }
  }
  const std::string where = chat.where;
  tokenizer->encode(ChatRenderer(std::move(chat)).render(conversation), prompt.ids);
  if (prompt.ids.empty()) {
    throw InvalidFile("[chat] {}: no tokens, got an empty text of {}, expected a text", where, conversation.where);
  }
  const int32_t greatest = std::ranges::max(prompt.ids);
  if (greatest < vocabulary) return prompt;
  throw InvalidFile("[chat] {}: a token that the model does not have, got id {}, expected at most {}", where, greatest,
                    vocabulary - 1);
}

}  // namespace partita

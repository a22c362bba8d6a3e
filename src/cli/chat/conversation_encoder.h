#pragma once
// Token ids of conversations for training.

#include <memory>
#include <string>
#include <vector>

#include "cli/chat/chat_renderer.h"
#include "cli/tokenizers/tokenizer.h"

namespace partita {

/// Makes token ids of conversations by a chat template, which runs from the first conversation on.
class ConversationEncoder {
 public:
  /// `tokenizer` is that of `name`; if it does not find special tokens, the encoder opens another one that does. Throws
  /// as `open_tokenizer` does.
  ConversationEncoder(ChatTemplate chat, const std::shared_ptr<Tokenizer>& tokenizer, const std::string& name);

  /// Appends the ids of a conversation, and of each whether it is a target, since the assistant says it. Each part is
  /// encoded on its own: an answer follows the ids that its prompt has when text is generated. Throws as ChatRenderer
  /// does.
  void encode(const Conversation& conversation, std::vector<int32_t>& ids, std::vector<bool>& is_target);
  /// Returns the smallest number that is above all ids.
  int64_t vocabulary() const { return tokenizer_->vocabulary(); }

 private:
  ChatTemplate chat_;
  std::shared_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<ChatRenderer> renderer_ = nullptr;
};

}  // namespace partita

#include "cli/chat/conversation_encoder.h"

#include "cli/tokenizers/special_tokens.h"

namespace partita {

ConversationEncoder::ConversationEncoder(ChatTemplate chat, const std::shared_ptr<Tokenizer>& tokenizer,
                                         const std::string& name)
    : chat_(std::move(chat)), tokenizer_(tokenizer) {
  if (tokenizer->finds_special_tokens()) return;
  tokenizer_ = with_special_tokens(open_tokenizer(name), chat_.special, chat_.begins_anew);
}

void ConversationEncoder::encode(const Conversation& conversation, std::vector<int32_t>& ids,
                                 std::vector<bool>& is_target) {
  if (renderer_ == nullptr) renderer_ = std::make_unique<ChatRenderer>(chat_);
  for (const ConversationPart& part : renderer_->parts(conversation)) {
    if (ids.empty()) {
      tokenizer_->encode(part.text, ids);
    } else {
      tokenizer_->encode_continued(part.text, ids);
    }
    is_target.resize(ids.size(), part.is_target);
  }
}

}  // namespace partita

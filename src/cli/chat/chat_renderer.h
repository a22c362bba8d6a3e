#pragma once
// Renders conversations by a chat template, in a process of Python with Jinja.

#include <chrono>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/chat/chat_template.h"
#include "cli/chat/conversation.h"
#include "cli/chat/line_process.h"

namespace partita {

/// A part of the text of a conversation.
struct ConversationPart {
  std::string text{};
  bool is_target = false;  // whether the assistant says it
};

/// Time that a template may run, of the processor, and until its answer must be there.
struct RenderLimits {
  std::chrono::seconds processor{5}, answer{60};
};

/// A running process that has read one template.
class ChatRenderer {
 public:
  /// Starts the process. Throws InvalidArgument if there is no python3 with Jinja, InvalidFile if the template is not
  /// one or takes too long, RuntimeFailure(out_of_memory) if no process can be started.
  explicit ChatRenderer(ChatTemplate chat, const RenderLimits& limits = {}, const std::string& python = "python3");

  /// Returns the text of a conversation, and after it how an answer of the assistant begins. Throws InvalidArgument or
  /// InvalidFile (refuse_conversation) if the template refuses the conversation, InvalidFile if the template fails,
  /// takes too long or makes too long a text.
  std::string render(const Conversation& conversation);
  /// Returns the text of a conversation in parts. What the template writes for a message of the assistant, after the
  /// begin of an answer, is a target. Throws as `render` does, and also if the text of the messages up to one is not
  /// the begin of the text of all: then the parts are not known.
  std::vector<ConversationPart> parts(const Conversation& conversation);

  const ChatTemplate& chat() const { return chat_; }

 private:
  /// Asks the process. `where` names what it renders, in messages.
  nlohmann::json ask(const nlohmann::json& question, const std::string& where);
  nlohmann::json rendered(const Conversation& conversation, bool has_targets);

  ChatTemplate chat_;
  RenderLimits limits_;
  std::string python_;
  std::unique_ptr<LineProcess> process_;
};

}  // namespace partita

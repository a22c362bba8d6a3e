#pragma once
// Conversations: messages of users, assistants and systems.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace partita {

/// A conversation as it was given.
struct Conversation {
  std::string json{};       // a list of messages, or an object with the list "messages", and "tools" perhaps
  std::string where{};      // names it in messages: a file, or a line of one
  bool is_in_file = false;  // whether a flag gave it, or a file
};

/// Returns the conversation in which a user has said one text. `flag` names it in messages. Throws InvalidArgument if
/// the text is not UTF-8.
Conversation conversation_of_text(const std::string& flag, const std::string& text);

/// Reads a conversation from a file of JSON. Throws MissingFile if it cannot be read, InvalidFile if it is no
/// conversation.
Conversation read_conversation(const std::string& path);

/// Checks that a value is a conversation: one or more messages, each an object with a string "role" and with "content",
/// which is a text, a list of parts, or missing next to "tool_calls". Throws InvalidFile, naming `where`, otherwise.
void require_conversation(const nlohmann::json& value, std::string_view where);

/// Throws the error of a conversation that cannot be used: InvalidFile or InvalidArgument, by where it was given.
[[noreturn]] void refuse_conversation(const Conversation& conversation, const std::string& what);

}  // namespace partita

#include "cli/chat/conversation.h"

#include <nlohmann/json.hpp>

#include "base/bounded_json.h"
#include "base/error.h"
#include "base/text_file.h"
#include "cli/tokenizers/unicode_text.h"

namespace partita {
namespace {

constexpr int64_t kMaxConversation = int64_t{16} << 20;

bool is_content(const nlohmann::json& message) {
  const auto content = message.find("content");
  if (content == message.end() || content->is_null()) return message.contains("tool_calls");
  return content->is_string() || content->is_array();
}

}  // namespace

Conversation conversation_of_text(const std::string& flag, const std::string& text) {
  if (const std::optional<size_t> at = find_invalid_utf8(text)) {
    throw InvalidArgument("[{}] no UTF-8, got another byte at {}, expected a text", flag, *at);
  }
  const nlohmann::json messages = nlohmann::json::array({{{"role", "user"}, {"content", text}}});
  return {.json = messages.dump(), .where = flag};
}

Conversation read_conversation(const std::string& path) {
  Conversation found{.where = path, .is_in_file = true};
  found.json = read_text_file(path, {"chat", "a conversation", kMaxConversation});
  try {
    require_conversation(parse_bounded_json(found.json), path);
  } catch (const BadJson& error) {
    throw InvalidFile("[chat] {}: no JSON, got {}, expected a list of messages", path, error.what());
  }
  return found;
}

void require_conversation(const nlohmann::json& value, std::string_view where) {
  const auto refuse = [&](std::string_view what, std::string_view got, std::string_view expected) {
    throw InvalidFile("[chat] {}: {}, got {}, expected {}", where, what, got, expected);
  };
  const auto named = value.is_object() ? value.find("messages") : value.end();
  const bool has_named = value.is_object() && named != value.end();
  const nlohmann::json& messages = has_named ? *named : value;
  if (!messages.is_array()) {
    refuse("no conversation", messages.type_name(), "a list of messages, or an object with a list 'messages'");
  }
  if (messages.empty()) refuse("no messages", "an empty list", "one or more");
  for (size_t i = 0; i < messages.size(); ++i) {
    const nlohmann::json& message = messages[i];
    const std::string name = fmt::format("message {}", i + 1);
    if (!message.is_object()) refuse(name + " is no message", message.type_name(), "an object with role and content");
    const auto role = message.find("role");
    if (role == message.end() || !role->is_string()) {
      refuse(name + " has no role", role == message.end() ? "none" : role->type_name(),
             "a text, such as user or assistant");
    }
    if (!is_content(message)) {
      const auto content = message.find("content");
      refuse(name + " has no content", content == message.end() ? "none" : content->type_name(), "a text");
    }
  }
  if (!has_named) return;
  const auto tools = value.find("tools");
  if (tools == value.end() || tools->is_null() || tools->is_array()) return;
  refuse("no tools", tools->type_name(), "a list of them, or none");
}

void refuse_conversation(const Conversation& conversation, const std::string& what) {
  if (conversation.is_in_file) throw InvalidFile("[chat] {}: {}", conversation.where, what);
  throw InvalidArgument("[{}] {}", conversation.where, what);
}

}  // namespace partita

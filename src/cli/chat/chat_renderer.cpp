#include "cli/chat/chat_renderer.h"

#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/bounded_json.h"
#include "base/error.h"
#include "cli/chat/chat_texts.h"

namespace partita {
namespace {

constexpr size_t kMaxAnswer = size_t{64} << 20;

std::string text_in(const nlohmann::json& answer, const char* name) { return answer.at(name).get<std::string>(); }

std::string print_status(const NoAnswer& end) {
  const std::string how = WIFSIGNALED(end.status) ? fmt::format("ended by signal {}", WTERMSIG(end.status))
                                                  : fmt::format("exit code {}", WEXITSTATUS(end.status));
  return end.complaint.empty() ? how : fmt::format("{} after '{}'", how, end.complaint);
}

}  // namespace

ChatRenderer::ChatRenderer(ChatTemplate chat, const RenderLimits& limits, const std::string& python)
    : chat_(std::move(chat)), limits_(limits), python_(python) {
  try {
    process_ = std::make_unique<LineProcess>(
        std::vector<std::string>{python, "-E", "-c", std::string(chat_texts().at(0).text)});
  } catch (const InvalidArgument& error) {
    throw InvalidArgument("{} with Jinja, which runs chat templates: apt install python3-jinja2", error.what());
  }
  nlohmann::json tokens(chat_.tokens);
  if (!chat_.more_tokens.empty()) tokens["additional_special_tokens"] = chat_.more_tokens;
  nlohmann::json question{{"template", chat_.text}, {"tokens", tokens}, {"seconds", limits.processor.count()}};
  if (!chat_.tool_text.empty()) question["tool_template"] = chat_.tool_text;
  const nlohmann::json answer = ask(question, "the template");
  if (answer.contains("missing")) {
    throw InvalidArgument("[chat] {} has no Jinja, got '{}', expected the package jinja2: apt install python3-jinja2",
                          python, text_in(answer, "missing"));
  }
  if (!answer.contains("failed")) return;
  throw InvalidFile("[chat] {}: no chat template, got '{}', expected one in the language of Jinja", chat_.where,
                    text_in(answer, "failed"));
}

nlohmann::json ChatRenderer::ask(const nlohmann::json& question, const std::string& where) {
  if (process_ == nullptr) throw InternalError("a template is used after it did not end");
  try {
    return parse_bounded_json(process_->ask(question.dump(), {.time = limits_.answer, .bytes = kMaxAnswer}));
  } catch (const BadJson& error) {
    throw InvalidFile("[chat] {}: no text of {}, got {}, expected Unicode", chat_.where, where, error.what());
  } catch (const NoAnswer& end) {
    process_.reset();
    if (end.reason == NoAnswer::Reason::too_long) {
      throw InvalidFile("[chat] {}: too long a text of {}, got more than {} bytes, expected at most that", chat_.where,
                        where, kMaxAnswer);
    }
    const bool is_late = end.reason == NoAnswer::Reason::late;
    if (is_late || (WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGPROF)) {
      throw InvalidFile("[chat] {}: no text of {}, got none after {} s{}, expected one", chat_.where, where,
                        (is_late ? limits_.answer : limits_.processor).count(), is_late ? "" : " of the processor");
    }
    throw InvalidArgument("[chat] {} does not run a chat template, got {}, expected Python with the package jinja2",
                          python_, print_status(end));
  }
}

nlohmann::json ChatRenderer::rendered(const Conversation& conversation, bool has_targets) {
  nlohmann::json question{{"conversation", conversation.json}};
  if (has_targets) question["targets"] = true;
  nlohmann::json answer = ask(question, conversation.where);
  if (answer.contains("refused")) {
    refuse_conversation(conversation, fmt::format("the template refuses it, got '{}', expected messages that {} takes",
                                                  text_in(answer, "refused"), chat_.where));
  }
  if (!answer.contains("failed")) return answer;
  throw InvalidFile("[chat] {}: the template fails on {}, got '{}', expected a text", chat_.where, conversation.where,
                    text_in(answer, "failed"));
}

std::string ChatRenderer::render(const Conversation& conversation) {
  return text_in(rendered(conversation, /*has_targets=*/false), "text");
}

std::vector<ConversationPart> ChatRenderer::parts(const Conversation& conversation) {
  std::vector<ConversationPart> parts;
  const nlohmann::json answer = rendered(conversation, /*has_targets=*/true);
  for (const nlohmann::json& text : answer.at("parts")) {
    parts.push_back({.text = text.get<std::string>(), .is_target = parts.size() % 2 == 1});
  }
  return parts;
}

}  // namespace partita

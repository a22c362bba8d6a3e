#include "cli/prompts.h"

#include <nlohmann/json.hpp>

#include "base/bounded_json.h"
#include "base/error.h"
#include "base/plain_text.h"
#include "base/text_file.h"

namespace partita {
namespace {

constexpr int64_t kMaxBytes = 64 << 20;

/// Returns the "prompt" of a line. Throws InvalidFile if there is none.
std::string prompt_in(std::string_view line, const std::string& path, int64_t number) {
  const auto refuse = [&](const std::string& got) {
    throw InvalidFile("[prompts] {}:{}: no prompt, got {}, expected an object with a text \"prompt\"", path, number,
                      got);
  };
  try {
    const nlohmann::json object = parse_bounded_json(line);
    if (!object.is_object()) refuse(object.type_name());
    const auto found = object.find("prompt");
    if (found == object.end()) refuse("an object without it");
    if (!found->is_string()) refuse(fmt::format("a \"prompt\" that is {}", found->type_name()));
    return found->get<std::string>();
  } catch (const BadJson& error) {
    refuse(error.what());
    throw;
  }
}

}  // namespace

std::vector<Prompt> read_prompts(const std::string& path) {
  const std::string text =
      read_text_file(path, {.where = "prompts", .purpose = "prompts, one in a line", .max_bytes = kMaxBytes});
  std::vector<Prompt> prompts;
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  const bool has_mark = text.starts_with(kByteOrderMark);
  int64_t number = 0;
  for (std::string_view line : split_lines(std::string_view(text).substr(has_mark ? kByteOrderMark.size() : 0))) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    prompts.push_back({path.ends_with(".jsonl") ? prompt_in(line, path, number) : std::string(line),
                       fmt::format("{}:{}", path, number)});
  }
  if (prompts.empty())
    throw InvalidFile("[prompts] {}: no prompts, got {} lines without text, expected one", path, number);
  return prompts;
}

std::string print_generated(const std::string& prompt, const std::string& text) {
  const nlohmann::ordered_json line{{"prompt", prompt}, {"text", text}};
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace partita

#include "runtime/checkpoint/json_text.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/printable.h"

namespace partita {

std::string print_json(const nlohmann::ordered_json& value) {
  try {
    return value.dump();
  } catch (const nlohmann::ordered_json::type_error&) {  // a text that is not UTF-8
    const std::string text = value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::ignore);
    throw InvalidArgument("[checkpoint] a name or text is not UTF-8, got other bytes in {}, expected UTF-8",
                          printable(text));
  }
}

void append_json(std::string& json, std::string_view text) {
  // The library handles letters one by one, which for checksums of tiles is most of the time of a header.
  unsigned char special = 0;  // no early exit, so that the loop is vectorized
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    special |= static_cast<unsigned char>((code < ' ') | (code > '~') | (code == '"') | (code == '\\'));
  }
  if (special != 0) {
    json += print_json(text);
    return;
  }
  json += '"';
  json.append(text) += '"';
}

std::string json_of(std::string_view text) {
  std::string json;
  append_json(json, text);
  return json;
}

}  // namespace partita

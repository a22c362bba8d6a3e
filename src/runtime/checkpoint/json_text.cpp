#include "runtime/checkpoint/json_text.h"

#include <nlohmann/json.hpp>

namespace partita {

void append_json(std::string& json, std::string_view text) {
  // The library handles letters one by one, which for checksums of tiles is most of the time of a header.
  unsigned char special = 0;  // no early exit, so that the loop is vectorized
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    special |= static_cast<unsigned char>((code < ' ') | (code > '~') | (code == '"') | (code == '\\'));
  }
  if (special != 0) {
    json += nlohmann::json(text).dump();
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

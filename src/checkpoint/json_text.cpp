#include "checkpoint/json_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace partita {

void append_json(std::string& json, std::string_view text) {
  // The library takes letters one by one, which for checksums of tiles is most of what a header costs.
  const bool is_plain = std::all_of(text.begin(), text.end(), [](char letter) {
    return letter >= ' ' && letter < 0x7f && letter != '"' && letter != '\\';
  });
  if (!is_plain) {
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

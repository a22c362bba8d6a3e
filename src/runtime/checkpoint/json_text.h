#pragma once
// Writes JSON piece by piece, without building a document.

#include <string>
#include <string_view>

namespace partita {

/// Appends `text`, which is UTF-8, to `json` as a quoted and escaped string.
void append_json(std::string& json, std::string_view text);

/// `text`, which is UTF-8, as a quoted and escaped JSON string.
std::string json_of(std::string_view text);

}  // namespace partita

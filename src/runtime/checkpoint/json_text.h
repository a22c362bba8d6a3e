#pragma once
// Writes JSON piece by piece, without building a document.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace partita {

/// Returns a value on one line. Throws InvalidArgument if a text in it is not UTF-8.
std::string print_json(const nlohmann::ordered_json& value);

/// Appends `text` to `json` as a quoted and escaped string. Throws InvalidArgument if it is not UTF-8.
void append_json(std::string& json, std::string_view text);

/// Returns `text` as a quoted and escaped JSON string. Throws InvalidArgument if it is not UTF-8.
std::string json_of(std::string_view text);

}  // namespace partita

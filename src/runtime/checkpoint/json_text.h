#pragma once
// JSON that is printed as it comes, without a document of all of it.

#include <string>
#include <string_view>

namespace partita {

/// Adds a text in quotes, with what JSON cannot have in one escaped. It is UTF-8.
void append_json(std::string& json, std::string_view text);

/// The same as a text of its own.
std::string json_of(std::string_view text);

}  // namespace partita

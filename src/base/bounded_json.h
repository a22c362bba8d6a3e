#pragma once
// Reads JSON from untrusted sources, such as files of other people and messages of other processes.

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace partita {

inline constexpr size_t kMaxJsonDepth = 16;                  // levels of nested lists and objects
inline constexpr int64_t kMaxJsonKeys = 100'000;             // keys per object
inline constexpr int64_t kMaxJsonValues = int64_t{1} << 22;  // values per document

/// Error of a document that is not JSON or exceeds a limit. Its text completes "got ..": "an error at byte 7".
struct BadJson : std::runtime_error {
  using runtime_error::runtime_error;
};

/// Parses a JSON document in time linear in its length. The last value wins if an object has a key twice. Throws
/// BadJson if the text is not JSON, has a number too large for a double, or exceeds kMaxJsonDepth, `max_keys` or
/// `max_values`.
nlohmann::json parse_bounded_json(std::string_view text, int64_t max_values = kMaxJsonValues,
                                  int64_t max_keys = kMaxJsonKeys);

}  // namespace partita

#pragma once
// Reads JSON from untrusted sources, such as files of other people and messages of other processes.

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace partita {

inline constexpr int kMaxJsonDepth = 16;                     // levels of nested lists and objects
inline constexpr int64_t kMaxJsonKeys = 100'000;             // keys per object
inline constexpr int64_t kMaxJsonValues = int64_t{1} << 22;  // values per document

/// Error of a document that is not JSON or exceeds a limit. Its text completes "got ..": "an error at byte 7".
struct BadJson : std::runtime_error {
  using runtime_error::runtime_error;
};

/// Counts what a parser meets, and throws BadJson above a limit before the parser allocates the value.
class JsonLimits {
 public:
  explicit JsonLimits(int64_t max_values) : max_values_(max_values) {}

  /// Counts one event of the parser. `depth` is the number of open lists and objects. Throws BadJson above
  /// kMaxJsonDepth levels, kMaxJsonKeys keys of an object, and the constructor's number of values.
  void count(int depth, nlohmann::json::parse_event_t event) {
    using Event = nlohmann::json::parse_event_t;
    const auto at = static_cast<size_t>(depth);
    switch (event) {
      case Event::object_start:
      case Event::array_start:
        if (depth >= kMaxJsonDepth) throw BadJson(fmt::format("more than {} nested lists", kMaxJsonDepth));
        keys_[at] = 0;
        count_value();
        break;
      case Event::key:
        if (++keys_[at - 1] > kMaxJsonKeys) throw BadJson(fmt::format("more than {} keys in an object", kMaxJsonKeys));
        break;
      case Event::value: count_value(); break;
      case Event::object_end:
      case Event::array_end: break;
    }
  }

 private:
  void count_value() {
    if (++values_ > max_values_) throw BadJson(fmt::format("more than {} values", max_values_));
  }

  int64_t max_values_, values_ = 0;
  std::array<int64_t, kMaxJsonDepth> keys_{};  // keys so far of the open object at each depth
};

/// Parses a JSON document. The last value wins if an object has a key twice. Throws BadJson if the text is not JSON,
/// has a number too large for a double, or exceeds kMaxJsonDepth, kMaxJsonKeys or `max_values`.
inline nlohmann::json parse_bounded_json(std::string_view text, int64_t max_values = kMaxJsonValues) {
  using Json = nlohmann::json;
  JsonLimits limits(max_values);
  const auto check = [&](int depth, Json::parse_event_t event, const Json&) {
    limits.count(depth, event);
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const Json::parse_error& error) {
    throw BadJson(fmt::format("an error at byte {}", error.byte));
  } catch (const Json::out_of_range&) {
    throw BadJson("a number that is too large");
  }
}

}  // namespace partita

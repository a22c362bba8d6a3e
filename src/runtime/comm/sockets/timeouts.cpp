#include "runtime/comm/sockets/timeouts.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/error.h"

namespace partita {
namespace {

Timeout seconds_of(const char* name, double fallback) {
  const char* text = std::getenv(name);
  double seconds = fallback;
  const std::string_view digits(text == nullptr ? "" : text);
  const auto [rest, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  const bool is_number = failure == std::errc{} && rest == digits.data() + digits.size();
  if (text != nullptr && (!is_number || seconds < 0.5 || seconds > 1e6)) {
    throw InvalidArgument(
        fmt::format("[launch] {} is not a time, got '{}', expected 0.5 to 1000000 seconds", name, digits));
  }
  return Timeout(static_cast<int64_t>(seconds * 1000));
}

}  // namespace

Timeout start_timeout() { return seconds_of("PARTITA_START_TIMEOUT", 300); }
Timeout stall_timeout() { return seconds_of("PARTITA_STALL_TIMEOUT", 30); }

}  // namespace partita

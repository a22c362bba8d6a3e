#include "runtime/comm/sockets/timeouts.h"

#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "base/plain_text.h"

namespace partita {
namespace {

Timeout timeout_seconds(const char* name, double fallback) {
  const char* text = std::getenv(name);
  const double seconds = text == nullptr ? fallback : parse_number<double>(text).value_or(-1);
  if (seconds >= 0.5 && seconds <= 1e6) return Timeout(static_cast<int64_t>(seconds * 1000));
  throw InvalidArgument(
      fmt::format("[launch] {} is not a time, got '{}', expected 0.5 to 1000000 seconds", name, text));
}

}  // namespace

Timeout start_timeout() { return timeout_seconds("PARTITA_START_TIMEOUT", 300); }
Timeout stall_timeout() { return timeout_seconds("PARTITA_STALL_TIMEOUT", 30); }

}  // namespace partita

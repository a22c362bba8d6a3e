#include "runtime/launch/refusal.h"

#include <unistd.h>

#include <cstdlib>

#include "base/log_file.h"
#include "base/plain_text.h"
#include "base/rank_limit.h"
#include "runtime/comm/sockets/socket.h"

namespace partita {

std::optional<Place> first_place(const Place& place) {
  const char* text = std::getenv(kFirstSizeVariable);
  const int first = text == nullptr ? 0 : parse_number<int>(text).value_or(0);
  if (!place.launched || first <= place.ranks() || first > kMaxJobRanks) return std::nullopt;
  Place before = place;
  before.launched->size = first;
  return before;
}

void tell_refusal(const Place& place, const std::string& text) {
  const char* path = std::getenv(kRefusalVariable);
  if (!first_place(place) || path == nullptr || *path == 0) return;
  try {
    const Socket file(open_log_file("launch", path, /*appends=*/false));
    [[maybe_unused]] const ssize_t written = ::write(file.file(), text.data(), text.size());
  } catch (const Error&) {  // the launcher then takes it for another mistake
  }
}

}  // namespace partita

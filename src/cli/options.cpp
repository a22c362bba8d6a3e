#include "cli/options.h"

#include "base/error.h"

namespace partita {

void check_range(std::string_view flag, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return;
  throw InvalidArgument("[{}] out of range, got {}, expected {} to {}", flag, value, least, most);
}

}  // namespace partita

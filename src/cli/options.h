#pragma once
// Checks of values that several commands share.

#include <cstdint>
#include <string_view>

#include "base/printable.h"
#include "base/same_file.h"
#include "job/option_text.h"
#include "runtime/launch/warn.h"

namespace partita {

/// Checks that `value` is in [least, most]. Throws InvalidArgument that begins with "[flag]" otherwise.
void check_range(std::string_view flag, int64_t value, int64_t least, int64_t most = kLargestNumber);

}  // namespace partita

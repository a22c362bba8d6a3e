#pragma once
// Checks of values that several commands share.

#include <cstdint>
#include <string_view>

#include "base/printable.h"
#include "base/same_file.h"
#include "runtime/launch/warn.h"

namespace partita {

inline constexpr int64_t kLargestNumber = int64_t{1} << 40;

/// Checks that `value` is in [least, most]. Throws InvalidArgument otherwise.
void check_range(std::string_view flag, int64_t value, int64_t least, int64_t most = kLargestNumber);

}  // namespace partita

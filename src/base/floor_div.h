#pragma once

#include <cstdint>

namespace partita {

/// Returns a / b, for b above 0, rounded down, also below zero.
constexpr int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

}  // namespace partita

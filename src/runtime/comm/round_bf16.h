#pragma once
// Rounding of f32 to bf16 before values are sent, and the way back. Both may work in place.

#include <cstdint>

namespace partita {

/// Rounds `count` f32 values to bf16, to the nearest, ties to even; NaN stays NaN. `rounded` may be `values`: the
/// result then fills the first half of the memory. Otherwise they may not overlap.
void round_to_bf16(const void* values, void* rounded, int64_t count);

/// Writes `count` bf16 values as f32. `values` may be `rounded`, whose memory then has to be twice as large as what it
/// holds. Otherwise they may not overlap.
void widen_from_bf16(const void* rounded, void* values, int64_t count);

}  // namespace partita

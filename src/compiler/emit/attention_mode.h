#pragma once
// How programs of accelerators compute attention.

#include "base/names.h"

namespace partita {

/// composed: by products and a softmax. fused: by calls of cuDNN, which writes no scores.
enum class AttentionMode { composed, fused };
constexpr auto value_names(AttentionMode) { return names("composed", "fused"); }

}  // namespace partita

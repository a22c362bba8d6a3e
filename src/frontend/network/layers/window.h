#pragma once
// What the layers with a sliding window share.

#include "base/shape.h"

namespace partita {

enum class Padding { valid, same, explicit_ };

/// Throws `[layer] what is not legal` unless there are two numbers (height, width) from 1 to 2^31 - 1.
void require_pair(std::string_view layer, std::string_view what, const std::vector<int64_t>& pair);

/// Throws unless x is [n, channels, height, width].
void require_images(std::string_view layer, const Type& x);

/// Top, left, bottom, right so that ceil(size / stride) rows and columns of x come out; what is left
/// over goes below and right.
std::vector<int64_t> same_pads(const Shape& x, const std::vector<int64_t>& kernel, const std::vector<int64_t>& stride,
                               const std::vector<int64_t>& dilation = {1, 1});

}  // namespace partita

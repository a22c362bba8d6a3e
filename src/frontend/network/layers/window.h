#pragma once
// Helpers of the layers with a sliding window.

#include "base/shape.h"

namespace partita {

enum class Padding { valid, same, explicit_ };

/// Checks that `pair` is two numbers (height, width) from 1 to 2^31 - 1. Throws InvalidArgument "[layer] what is not
/// legal" otherwise.
void require_pair(std::string_view layer, std::string_view what, const std::vector<int64_t>& pair);

/// Checks that x has four dimensions, [n, channels, height, width]. Throws InvalidArgument, naming `layer`, otherwise.
void require_images(std::string_view layer, const Type& x);

/// Returns the padding at the top, left, bottom and right that keeps ceil(size / stride) rows and columns of images
/// x[n, c, h, w]; 0 where the window needs none. The extra element of an odd padding is below and to the right.
std::vector<int64_t> same_pads(const Shape& x, const std::vector<int64_t>& kernel, const std::vector<int64_t>& stride,
                               const std::vector<int64_t>& dilation = {1, 1});

}  // namespace partita

#include "frontend/network/layers/window.h"

#include <algorithm>

#include "base/fields.h"

namespace partita {

void require_pair(std::string_view layer, std::string_view what, const std::vector<int64_t>& pair) {
  const auto legal = [](int64_t value) { return value >= 1 && value < int64_t{1} << 31; };
  if (pair.size() == 2 && std::ranges::all_of(pair, legal)) return;
  throw InvalidArgument("[{}] {} is not legal, got {}, expected 2 numbers from 1 to 2^31 - 1", layer, what,
                        to_text(pair));
}

void require_images(std::string_view layer, const Type& x) {
  if (x.rank() == 4) return;
  throw InvalidArgument("[{}] wrong number of dimensions, got {}, expected 4 dimensions [n, channels, height, width]",
                        layer, print(x));
}

std::vector<int64_t> same_pads(const Shape& x, const std::vector<int64_t>& kernel, const std::vector<int64_t>& stride,
                               const std::vector<int64_t>& dilation) {
  std::vector<int64_t> pads(4, 0);
  for (size_t d = 0; d < 2; ++d) {
    const int64_t size = x[2 + d];
    const int64_t out = (size + stride[d] - 1) / stride[d], span = (kernel[d] - 1) * dilation[d] + 1;
    const int64_t total = std::max<int64_t>(0, (out - 1) * stride[d] + span - size);
    pads[d] = total / 2;
    pads[2 + d] = total - total / 2;
  }
  return pads;
}

}  // namespace partita

#include "device/cpu/layout.h"

#include <cctype>

namespace partita {
namespace {

/// The product of the blocks of each dimension.
std::vector<int64_t> blocks_of(const std::string& tag, size_t rank) {
  std::vector<int64_t> blocks(rank, 1);
  int64_t block = 0;
  for (char letter : tag) {
    if (std::isdigit(static_cast<unsigned char>(letter))) {
      block = 10 * block + (letter - '0');
      continue;
    }
    const auto dim = static_cast<size_t>(std::tolower(static_cast<unsigned char>(letter)) - 'a');
    PARTITA_CHECK(dim < rank, "layout {} of {} dimensions", tag, rank);
    if (block > 0) blocks[dim] *= block;
    block = 0;
  }
  return blocks;
}

int64_t rounded_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

}  // namespace

int64_t padded_elements(const Type& type, const Layout& layout) {
  if (layout.plain() || layout.any()) return type.elements();
  const std::vector<int64_t> blocks = blocks_of(layout.tag, type.shape.size());
  int64_t count = 1;
  for (size_t d = 0; d < blocks.size(); ++d) count *= rounded_up(type.shape[d], blocks[d]);
  return count;
}

std::optional<ChannelView> channel_view(const Type& type, const Layout& layout, int64_t axis) {
  const Shape& shape = type.shape;
  if (axis < 0 || axis >= type.rank()) return std::nullopt;
  ChannelView view;
  view.channels = view.blocks = shape[axis];
  for (int64_t d = 0; d < type.rank(); ++d) (d < axis ? view.images : view.plane) *= d == axis ? 1 : shape[d];
  if (layout.plain()) {
    if (view.plane == 1) std::swap(view.blocks, view.lanes);
    return view;
  }
  if (axis != 1 || type.rank() != 4) return std::nullopt;
  if (layout.tag == "acdb") {
    std::swap(view.blocks, view.lanes);
    return view;
  }
  for (int64_t block : {4, 8, 16}) {
    if (layout.tag != fmt::format("aBcd{}b", block)) continue;
    view.blocks = rounded_up(view.channels, block) / block;
    view.lanes = block;
    return view;
  }
  return std::nullopt;
}

}  // namespace partita

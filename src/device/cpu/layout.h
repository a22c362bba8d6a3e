#pragma once
// Layout tags, read without a library: letters are dimensions from the outermost to the innermost, a
// capital is a dimension that is blocked, and a number with a letter is a block: "aBcd16b".

#include "schedule/kernel_catalog.h"

namespace partita {

/// Elements of a type in a layout, with the padding of its blocks.
int64_t padded_elements(const Type& type, const Layout& layout);

/// A tensor as x[images][blocks][plane][lanes]: channel = block * lanes + lane, and channels beyond
/// `channels` are padding. One loop over it serves row-major, channels-last and blocked layouts.
struct ChannelView {
  int64_t images = 1, blocks = 1, plane = 1, lanes = 1;
  int64_t channels = 1;

  int64_t block_size() const { return plane * lanes; }
  int64_t size() const { return images * blocks * plane * lanes; }
};

/// Dimension `axis` holds the channels. nullopt: the layout cannot be seen so.
std::optional<ChannelView> channel_view(const Type& type, const Layout& layout, int64_t axis = 1);

}  // namespace partita

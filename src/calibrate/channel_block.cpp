#include "calibrate/channel_block.h"

#include "ir/ops/conv/conv2d.h"

namespace partita {

int64_t channel_block(const KernelCatalog& catalog) {
  constexpr int64_t kChannels = 64, kSide = 8, kFilter = 3;
  const Type image{DType::f32, {1, kChannels, kSide, kSide}},
      filter{DType::f32, {kChannels, kChannels, kFilter, kFilter}};
  const MemoryFormat any{.tag = "any"};
  const KernelChoice choice = catalog.choose({.op = "conv2d",
                                              .attrs = Attrs(Conv2dAttrs{.pads = {1, 1, 1, 1}}),
                                              .inputs = {image, filter},
                                              .outputs = {image},
                                              .input_formats = {any, any}});
  // An image of one channel is padded to one block.
  const Type pixel{DType::f32, {1, 1, 1, 1}};
  const int64_t block = catalog.bytes(pixel, choice.outputs[0]) / pixel.bytes();
  return block > 1 ? block : 0;
}

}  // namespace partita

#include <cstring>

#include "base/error.h"
#include "frontend/data/transforms/image_maps.h"

namespace partita {
namespace {

class ChannelsLast : public ValueMap {
 public:
  Type type(const Type& in) const override {
    if (in.rank() != 3) {
      throw InvalidArgument("[chw_to_hwc] not an image, got {}, expected [channels,height,width]", print(in));
    }
    return {in.dtype, {in.shape[1], in.shape[2], in.shape[0]}};
  }

  void apply(const ConstTensor& in, const Tensor& out, const RowKey&) const override {
    const int64_t channels = in.type.shape[0], pixels = in.type.shape[1] * in.type.shape[2];
    const size_t bytes = size_of(in.type.dtype);
    const auto* from = static_cast<const std::byte*>(in.data);
    auto* to = static_cast<std::byte*>(out.data);
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < pixels; ++i) {
        std::memcpy(to + static_cast<size_t>(i * channels + c) * bytes, from, bytes);
        from += bytes;
      }
    }
  }
};

}  // namespace

ValueMapPtr chw_to_hwc() { return std::make_shared<ChannelsLast>(); }

}  // namespace partita

#pragma once
// Memory formats with channels innermost: in blocks, [n, ceil(c / lanes), h, w, lanes], or all channels, [n, h, w, c].

#include "ir/kernels/kernel_catalog.h"

namespace partita {

inline constexpr int64_t kMaxLanes = 16;

/// Channels per block: 16 for "aBcd16b", 8 for "aBcd8b", for a 4-D tensor of f32 or 16 bits; 0 for other memory
/// formats.
inline int64_t lanes_of(const Type& type, const MemoryFormat& format) {
  if (type.rank() != 4 || (type.dtype != DType::f32 && !is_half(type.dtype))) return 0;
  return format.tag == "aBcd16b" ? 16 : format.tag == "aBcd8b" ? 8 : 0;
}

/// Whether a tensor is dense with the channels innermost: [n, h, w, c].
inline bool channels_last(const Type& type, const MemoryFormat& format) {
  return type.rank() == 4 && format.tag == "acdb";
}

/// Number of planes of a 4-D tensor, with `lanes` channels each: images times blocks of channels, the last one padded.
inline int64_t planes_of(const Shape& shape, int64_t lanes) { return shape[0] * ((shape[1] + lanes - 1) / lanes); }

/// Returns the memory format `tag` of a 4-D tensor whose channels are in blocks of `lanes`, with its bytes, padding
/// included.
inline MemoryFormat blocked(const Type& type, const std::string& tag, int64_t lanes) {
  const auto bytes = static_cast<int64_t>(size_of(type.dtype));
  return {tag, planes_of(type.shape, lanes) * lanes * type.shape[2] * type.shape[3] * bytes};
}

}  // namespace partita

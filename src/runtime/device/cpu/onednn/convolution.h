#pragma once
// Shared by the three convolution kernels: geometry, the memory formats to try, and the choice.

#include <array>
#include <variant>

#include "ir/ops/conv/conv2d.h"
#include "runtime/device/cpu/onednn/engine.h"

namespace partita {

/// The operands of one convolution in the order x, weight, y, whatever role each has in the op.
struct Convolution {
  Type x, weight, y;
  MemoryFormat x_format, weight_format, y_format;  // "any": the primitive chooses
  dnnl::memory::dims stride, dilation, before, after;
  int64_t groups = 1;

  /// Describe the primitive of the convolution or of a gradient. Throw dnnl::error if oneDNN has none.
  dnnl::convolution_forward::primitive_desc forward() const;
  dnnl::convolution_backward_data::primitive_desc backward_data() const;
  dnnl::convolution_backward_weights::primitive_desc backward_weights() const;

  Desc x_desc() const { return data_desc(x, x_format); }
  Desc y_desc() const { return data_desc(y, y_format); }
  Desc weight_desc() const;

 private:
  /// The forward convolution to which the description of a gradient refers. It is of one type, while a gradient of
  /// bf16 operands may be f32.
  dnnl::convolution_forward::primitive_desc hint() const;
  static Desc data_desc(const Type& type, const MemoryFormat& format) {
    return format.any() ? any_desc(type) : desc_of(type, format);
  }
};

/// Returns the description of the weights. Grouped weights [g*o, c, p, q] are described as [g, o, c, p, q], as oneDNN
/// expects them, and are plain whatever `weight_format` says.
inline Desc Convolution::weight_desc() const {
  if (groups == 1) return data_desc(weight, weight_format);
  const Shape& shape = weight.shape;
  return plain_desc({weight.dtype, {groups, shape[0] / groups, shape[1], shape[2], shape[3]}});
}

inline dnnl::convolution_forward::primitive_desc Convolution::forward() const {
  return describe<dnnl::convolution_forward>(dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct,
                                             x_desc(), weight_desc(), y_desc(), stride, dilation, before, after);
}

inline dnnl::convolution_forward::primitive_desc Convolution::hint() const {
  Convolution conv = *this;
  if (x.dtype == DType::f32 && y.dtype == DType::f32) return conv.forward();
  conv.x.dtype = conv.weight.dtype = conv.y.dtype = DType::bf16;
  conv.x_format = conv.weight_format = conv.y_format = {"any", 0};
  return conv.forward();
}

inline dnnl::convolution_backward_data::primitive_desc Convolution::backward_data() const {
  return describe_backward<dnnl::convolution_backward_data>(hint(), dnnl::algorithm::convolution_direct, x_desc(),
                                                            weight_desc(), y_desc(), stride, dilation, before, after);
}

inline dnnl::convolution_backward_weights::primitive_desc Convolution::backward_weights() const {
  return describe_backward<dnnl::convolution_backward_weights>(
      hint(), dnnl::algorithm::convolution_direct, x_desc(), weight_desc(), y_desc(), stride, dilation, before, after);
}

/// Makes a convolution from `attrs` of conv2d or of a gradient. oneDNN expects the padding after the last element that
/// is read. It is less than the attribute's padding if the stride leaves a remainder.
inline Convolution make_convolution(const Conv2dAttrs& attrs, const Type& x, const Type& weight, const Type& y) {
  Convolution conv;
  std::tie(conv.x, conv.weight, conv.y, conv.groups) = std::tie(x, weight, y, attrs.groups);
  for (size_t d = 0; d < 2; ++d) {
    const int64_t span = (weight.shape[d + 2] - 1) * attrs.dilation[d] + 1;
    const int64_t end = (y.shape[d + 2] - 1) * attrs.stride[d] + span;
    conv.stride.push_back(attrs.stride[d]);
    conv.dilation.push_back(attrs.dilation[d] - 1);
    conv.before.push_back(attrs.pads[d]);
    conv.after.push_back(end - x.shape[d + 2] - attrs.pads[d]);
  }
  return conv;
}

/// With fewer channels a blocked image is mostly padding. With at least as many, a blocked convolution, padding
/// included, is several times as fast as one on plain images.
constexpr int64_t kBlockedChannels = 4;

/// Returns "any" for data whose format `now` is neither plain nor "any", or which has at least kBlockedChannels
/// channels; else plain.
inline MemoryFormat preferred_data_format(const Type& type, const MemoryFormat& now) {
  const bool blocked = !now.plain() && !now.any();
  return {blocked || type.shape[1] >= kBlockedChannels ? "any" : "plain", 0};
}

/// The memory formats of x, weight and y that a description chose.
inline std::array<Desc, 3> descs_of(const dnnl::convolution_forward::primitive_desc& pd) {
  return {pd.src_desc(), pd.weights_desc(), pd.dst_desc()};
}
inline std::array<Desc, 3> descs_of(const dnnl::convolution_backward_data::primitive_desc& pd) {
  return {pd.diff_src_desc(), pd.weights_desc(), pd.diff_dst_desc()};
}
inline std::array<Desc, 3> descs_of(const dnnl::convolution_backward_weights::primitive_desc& pd) {
  return {pd.src_desc(), pd.diff_weights_desc(), pd.diff_dst_desc()};
}

inline bool is_half(const Convolution& conv) { return conv.x.dtype == DType::bf16 || conv.y.dtype == DType::bf16; }

/// Checks that a product of bf16 is not computed by oneDNN's reference. Throws dnnl::error otherwise, as for a
/// primitive that oneDNN lacks.
template <class PrimitiveDesc>
void require_fast(const Convolution& conv, const PrimitiveDesc& pd) {
  if (is_half(conv) && is_slow(pd)) throw dnnl::error(dnnl_unimplemented, "only its reference multiplies bf16");
}

/// Returns the scratch bytes of a convolution whose memory formats are chosen, or the reason why oneDNN has no such
/// convolution. `describe` takes a Convolution and returns the description of the primitive to use. Throws
/// RuntimeFailure(out_of_memory) if oneDNN runs out of memory.
template <class Describe>
std::variant<int64_t, std::string> scratch_of(const Convolution& conv, const Describe& describe) {
  try {
    const auto pd = describe(conv);
    require_fast(conv, pd);
    return scratchpad_bytes(pd);
  } catch (const dnnl::error& error) {
    return no_such("convolution", error);
  }
}

/// Gives `conv` names of the memory formats that a description of it chose, and returns the scratch bytes. Several
/// names describe filters of one element alike, but oneDNN takes some of them for formats that only its reference
/// knows: those are left out. Returns none if no names remain.
template <class Describe>
std::optional<int64_t> name_fast_formats(Convolution& conv, const std::array<Desc, 3>& descs,
                                         const Describe& describe) {
  const std::vector<MemoryFormat> plain(1);
  for (const MemoryFormat& x : formats_of(descs[0], conv.x)) {
    for (const MemoryFormat& y : formats_of(descs[2], conv.y)) {
      for (const MemoryFormat& w : conv.groups == 1 ? formats_of(descs[1], conv.weight) : plain) {
        std::tie(conv.x_format, conv.weight_format, conv.y_format) = std::tie(x, w, y);
        const auto bytes = scratch_of(conv, describe);
        if (const int64_t* found = std::get_if<int64_t>(&bytes)) return *found;
      }
    }
  }
  return std::nullopt;
}

/// Chooses x_format, weight_format and y_format of `conv`, and returns the scratch bytes. Returns the reason if no
/// choice works: oneDNN has no such convolution, or picks a format without a name. The formats of `conv` are then
/// plain. `describe` takes a Convolution and returns its `forward()`, `backward_data()` or `backward_weights()`, in
/// which oneDNN picks the formats that are "any". `x_now` and `y_now` are the memory formats that x and y have so far.
/// Throws RuntimeFailure(out_of_memory) if oneDNN runs out of memory.
template <class Describe>
std::variant<int64_t, std::string> choose_formats(Convolution& conv, const MemoryFormat& x_now,
                                                  const MemoryFormat& y_now, const Describe& describe) {
  const MemoryFormat plain{}, any{"any", 0};
  const MemoryFormat weight = conv.groups == 1 ? any : plain;
  const std::array<MemoryFormat, 3> candidates[] = {
      {preferred_data_format(conv.x, x_now), weight, preferred_data_format(conv.y, y_now)},
      {plain, weight, plain},
      {plain, plain, plain},
  };
  std::string reason;
  for (const auto& [x, w, y] : candidates) {
    std::tie(conv.x_format, conv.weight_format, conv.y_format) = std::tie(x, w, y);
    try {
      const auto pd = describe(conv);
      require_fast(conv, pd);
      const auto [x_desc, w_desc, y_desc] = descs_of(pd);
      const auto x_format = format_of(x_desc, conv.x), y_format = format_of(y_desc, conv.y);
      if (is_half(conv)) {
        if (const auto bytes = name_fast_formats(conv, descs_of(pd), describe)) return *bytes;
        reason = "oneDNN has no fast kernel in memory formats with a name";
        continue;
      }
      const auto w_format = conv.groups == 1 ? format_of(w_desc, conv.weight) : std::optional(plain);
      if (x_format && y_format && w_format) {
        std::tie(conv.x_format, conv.weight_format, conv.y_format) = std::tie(*x_format, *w_format, *y_format);
        return scratchpad_bytes(pd);
      }
      reason = "oneDNN chose a memory format without a name";
    } catch (const dnnl::error& error) {
      reason = no_such("convolution", error);
    }
  }
  return reason;
}

}  // namespace partita

#include "runtime/device/cpu/onednn/engine.h"

#include <algorithm>

#include "base/convert_elements.h"

namespace partita {
namespace {

using Tag = dnnl::memory::format_tag;

struct NamedTag {
  int rank;
  std::string_view name;
  Tag tag;
};

// "plain" comes first, so it names a memory format that is equal to it (one channel, one pixel).
#define PARTITA_TAG(rank, name) \
  NamedTag { rank, #name, Tag::name }
constexpr NamedTag kTags[] = {
    {1, "plain", Tag::a},
    {2, "plain", Tag::ab},
    {3, "plain", Tag::abc},
    {4, "plain", Tag::abcd},
    {5, "plain", Tag::abcde},
    {6, "plain", Tag::abcdef},
    PARTITA_TAG(2, ba),
    PARTITA_TAG(4, acdb),
    PARTITA_TAG(4, aBcd16b),
    PARTITA_TAG(4, aBcd8b),
    PARTITA_TAG(4, aBcd4b),
    PARTITA_TAG(4, cdba),
    PARTITA_TAG(4, ABcd16b16a),
    PARTITA_TAG(4, ABcd16a16b),
    PARTITA_TAG(4, ABcd8b8a),
    PARTITA_TAG(4, ABcd8a8b),
    PARTITA_TAG(4, ABcd4b4a),
    PARTITA_TAG(4, ABcd4a4b),
    PARTITA_TAG(4, Acdb16a),
    PARTITA_TAG(4, Acdb8a),
    PARTITA_TAG(4, Acdb4a),
    PARTITA_TAG(4, Abcd16a),
    PARTITA_TAG(4, Abcd8a),
    PARTITA_TAG(4, Abcd4a),
    PARTITA_TAG(4, Acdb32a),
    PARTITA_TAG(4, Acdb48a),
    PARTITA_TAG(4, Acdb64a),
    PARTITA_TAG(4, bcda),
    PARTITA_TAG(4, BAcd16a16b),
    PARTITA_TAG(4, BAcd16b16a),
    // bf16, of which instructions multiply pairs.
    PARTITA_TAG(4, ABcd8b16a2b),
    PARTITA_TAG(4, ABcd8a16b2a),
    PARTITA_TAG(4, BAcd8a16b2a),
    PARTITA_TAG(4, ABcd16b16a2b),
    PARTITA_TAG(4, ABcd16b32a2b),
    PARTITA_TAG(4, ABcd16b48a2b),
    PARTITA_TAG(4, ABcd16b64a2b),
    PARTITA_TAG(4, ABcd16a16b2a),
    PARTITA_TAG(4, AcdB16a2b),
    PARTITA_TAG(4, AcdB32a2b),
    PARTITA_TAG(4, AcdB48a2b),
    PARTITA_TAG(4, AcdB64a2b),
    PARTITA_TAG(4, AcdB16b16a2b),
    PARTITA_TAG(4, AcdB16b32a2b),
    PARTITA_TAG(4, AcdB16b48a2b),
    PARTITA_TAG(4, AcdB16b64a2b),
};
#undef PARTITA_TAG

const NamedTag* find_tag(int rank, std::string_view name) {
  const auto* found = std::find_if(std::begin(kTags), std::end(kTags),
                                   [&](const NamedTag& tag) { return tag.rank == rank && tag.name == name; });
  return found == std::end(kTags) ? nullptr : found;
}

/// f32, bf16 or i32: the positions of a pooling have the memory format of its values. Throws InternalError for other
/// types.
dnnl::memory::data_type data_type_of(const Type& type, const MemoryFormat& format) {
  if (type.dtype == DType::i32) return dnnl::memory::data_type::s32;
  PARTITA_CHECK(type.dtype == DType::f32 || type.dtype == DType::bf16, "{} in memory format {}", print(type),
                format.tag);
  return float_data_type(type.dtype);
}

}  // namespace

const dnnl::engine& onednn_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

Desc plain_desc(const Type& type) { return Desc(type.shape, float_data_type(type.dtype), strides_of(type.shape)); }

Desc any_desc(const Type& type) { return Desc(type.shape, float_data_type(type.dtype), Tag::any); }

Desc desc_of(const Type& type, const MemoryFormat& format) {
  const dnnl::memory::data_type data_type = data_type_of(type, format);
  if (format.plain()) return Desc(type.shape, data_type, strides_of(type.shape));
  const NamedTag* named = find_tag(type.rank(), format.tag);
  PARTITA_CHECK(named != nullptr, "no memory format {} for {}", format.tag, print(type));
  return Desc(type.shape, data_type, named->tag);
}

std::vector<MemoryFormat> formats_of(const Desc& desc, const Type& type) {
  std::vector<MemoryFormat> formats;
  for (const NamedTag& named : kTags) {
    if (named.rank != type.rank() || desc != Desc(type.shape, float_data_type(type.dtype), named.tag)) continue;
    formats.push_back({std::string(named.name), named.name == "plain" ? 0 : static_cast<int64_t>(desc.get_size())});
  }
  return formats;
}

std::optional<MemoryFormat> format_of(const Desc& desc, const Type& type) {
  const std::vector<MemoryFormat> formats = formats_of(desc, type);
  return formats.empty() ? std::nullopt : std::optional(formats.front());
}

int64_t format_bytes(const Type& type, const MemoryFormat& format) {
  if (format.plain() || format.any() || type.elements() == 0) return type.bytes();
  if (is_half(type.dtype)) return format_bytes({DType::f32, type.shape}, format) / 2;
  return static_cast<int64_t>(desc_of(type, format).get_size());
}

bool multiplies_bf16() {
  constexpr auto kNeeded = static_cast<unsigned>(dnnl_cpu_isa_avx512_core_bf16);
  return (static_cast<unsigned>(dnnl_get_effective_cpu_isa()) & kNeeded) == kNeeded;
}

dnnl::memory::data_type float_data_type(DType dtype) {
  PARTITA_CHECK(dtype == DType::f32 || dtype == DType::bf16, "{} as a float of oneDNN", name_of(dtype));
  return dtype == DType::f32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
}

namespace {

/// Returns the reason why oneDNN does not support the shapes of a query; "" if it does.
std::string unsupported_shapes(const KernelQuery& query) {
  for (const auto* types : {&query.inputs, &query.outputs}) {
    for (const Type& type : *types) {
      if (type.rank() == 0 || type.rank() > DNNL_MAX_NDIMS) return fmt::format("rank {} is not supported", type.rank());
      if (type.elements() == 0) return fmt::format("{} has no elements", print(type));
    }
  }
  return "";
}

}  // namespace

std::string unsupported_by_onednn(const KernelQuery& query) {
  for (const auto* types : {&query.inputs, &query.outputs}) {
    for (const Type& type : *types) {
      if (type.dtype != DType::f32) return fmt::format("{} is not supported", name_of(type.dtype));
    }
  }
  return unsupported_shapes(query);
}

std::string unsupported_product_by_onednn(const KernelQuery& query) {
  const DType a = query.inputs[0].dtype, b = query.inputs[1].dtype, y = query.outputs[0].dtype;
  if (a != DType::bf16 || b != DType::bf16) return unsupported_by_onednn(query);
  if (y != DType::bf16 && y != DType::f32) return fmt::format("{} is not supported", name_of(y));
  if (!multiplies_bf16()) return "the processor does not multiply bf16";
  return unsupported_shapes(query);
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

void throw_onednn(dnnl_status_t status, std::string_view what) {
  if (status != dnnl_out_of_memory) throw InternalError("[onednn] {}, status {}", what, int{status});
  throw RuntimeFailure(ExitCode::out_of_memory, "[memory] out of memory: oneDNN {}", what);
}

std::string no_such(std::string_view primitive, const dnnl::error& error) {
  if (error.status == dnnl_out_of_memory) throw_onednn(error.status, error.what());
  return fmt::format("oneDNN has no such {}: {}", primitive, error.what());
}

PrimitiveKernel::PrimitiveKernel(const dnnl::primitive& primitive, const std::vector<Argument>& arguments)
    : primitive_(primitive), stream_(onednn_engine()) {
  for (const Argument& argument : arguments) {
    const dnnl::memory memory(argument.desc, onednn_engine(), DNNL_MEMORY_NONE);
    bound_.push_back({memory, argument.place, argument.index});
    by_id_.emplace(argument.id, memory);
  }
}

void PrimitiveKernel::run(std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch) {
  for (Bound& bound : bound_) {
    void* data = bound.place == Argument::input    ? const_cast<void*>(inputs[bound.index])
                 : bound.place == Argument::output ? outputs[bound.index]
                                                   : static_cast<std::byte*>(scratch) + bound.index;
    // Setting the address of a padded memory costs a pass over its padding, so it is skipped if the address is
    // unchanged.
    if (bound.memory.get_data_handle() != data) bound.memory.set_data_handle(data);
  }
  report_onednn([&] {
    primitive_.execute(stream_, by_id_);
    stream_.wait();
  });
}

namespace {

/// Reorders 16-bit floats by way of f32, which holds each of them: the library moves them on some processors only.
class HalfReorder final : public Kernel {
 public:
  HalfReorder(const Type& type, const MemoryFormat& from, const MemoryFormat& to)
      : dtype_(type.dtype),
        reorder_(make_onednn_reorder({DType::f32, type.shape}, from, to)),
        from_(static_cast<size_t>(format_bytes({DType::f32, type.shape}, from)) / sizeof(float)),
        to_(static_cast<size_t>(format_bytes({DType::f32, type.shape}, to)) / sizeof(float)) {}

  void run(std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    const void* from = from_.data();
    void* to = to_.data();
    convert_elements(dtype_, inputs[0], DType::f32, from_.data(), static_cast<int64_t>(from_.size()));
    reorder_->run({&from, 1}, {&to, 1}, scratch);
    convert_elements(DType::f32, to, dtype_, outputs[0], static_cast<int64_t>(to_.size()));
  }

 private:
  const DType dtype_;
  const std::unique_ptr<Kernel> reorder_;
  std::vector<float> from_, to_;
};

}  // namespace

std::unique_ptr<Kernel> make_onednn_reorder(const Type& type, const MemoryFormat& from, const MemoryFormat& to) {
  const bool moves_halves = type.dtype == DType::bf16 && multiplies_bf16();
  if (is_half(type.dtype) && !moves_halves) return std::make_unique<HalfReorder>(type, from, to);
  const Desc source = desc_of(type, from), target = desc_of(type, to);
  // The library's own scratchpad would belong to the thread that makes the primitive, but others may run it.
  const dnnl::reorder::primitive_desc pd(onednn_engine(), source, onednn_engine(), target, user_scratchpad());
  PARTITA_CHECK(scratchpad_bytes(pd) == 0, "a reorder of {} wants scratch memory", print(type));
  return std::make_unique<PrimitiveKernel>(
      dnnl::reorder(pd),
      std::vector<Argument>{{DNNL_ARG_FROM, source, Argument::input, 0}, {DNNL_ARG_TO, target, Argument::output, 0}});
}

}  // namespace partita

#pragma once
// Shared by the oneDNN kernels: the engine, the names of its memory formats, and a kernel that runs one primitive. All
// differences between oneDNN 2.6 and 3.x are in this file.

#include <dnnl.hpp>
#include <optional>

#include "runtime/device/kernel.h"

namespace partita {

using Desc = dnnl::memory::desc;

/// The CPU engine of the process.
const dnnl::engine& onednn_engine();

/// A dense row-major description of an operand of f32 or bf16.
Desc plain_desc(const Type& type);
/// A description of f32 or bf16 that leaves the memory format to the primitive.
Desc any_desc(const Type& type);
/// The description of a type in a memory format. Throws InternalError unless the type is f32, bf16 or i32 and the tag
/// is known for its rank.
Desc desc_of(const Type& type, const MemoryFormat& format);
/// Returns all memory formats that the description of an operand of this type, f32 or bf16, may be named by.
std::vector<MemoryFormat> formats_of(const Desc& desc, const Type& type);
/// Returns the first of `formats_of`, or nullopt if it has no name here.
std::optional<MemoryFormat> format_of(const Desc& desc, const Type& type);
/// Returns the bytes of a type in a memory format, padding included; those of the plain format for "any" and for a type
/// without elements. Throws as desc_of does for other formats.
int64_t format_bytes(const Type& type, const MemoryFormat& format);
/// Returns the reason why oneDNN does not support a query: an operand that is not f32, has no or more than 12
/// dimensions, or no elements. "" if it does.
std::string unsupported_by_onednn(const KernelQuery& query);
/// Returns the reason why oneDNN does not support a product of the first two operands; "" if it does. They are f32 or,
/// where the processor multiplies bf16, bf16 with a result of bf16 or f32.
std::string unsupported_product_by_onednn(const KernelQuery& query);
/// Whether the processor multiplies bf16, with sums in f32, and oneDNN is not told to do without.
bool multiplies_bf16();
/// oneDNN's name of f32 or bf16. Throws InternalError for other types.
dnnl::memory::data_type float_data_type(DType dtype);

/// Makes a kernel that converts between two memory formats of an f32, i32 or 16-bit type. Throws dnnl::error if oneDNN
/// cannot, InternalError if it needs scratch memory, for other types and for formats unknown for the type's rank.
std::unique_ptr<Kernel> make_onednn_reorder(const Type& type, const MemoryFormat& from, const MemoryFormat& to);

/// An argument of a primitive: an input, an output, or bytes from `index` of the scratch memory.
struct Argument {
  enum Place { input, output, scratch };
  int id = 0;
  Desc desc;
  Place place = input;
  int64_t index = 0;
};

/// Throws RuntimeFailure(out_of_memory) if `status` says so, else InternalError. `what` is the text of the message.
[[noreturn]] void throw_onednn(dnnl_status_t status, std::string_view what);

/// Calls `fn` and returns its result. For an error of oneDNN, throws RuntimeFailure(out_of_memory) if it lacks memory,
/// else InternalError. Throws what else `fn` throws.
template <class Fn>
auto report_onednn(Fn&& fn) {
  try {
    return fn();
  } catch (const dnnl::error& error) {
    throw_onednn(error.status, error.what());
  }
}

/// Returns the reason of a refusal: why oneDNN has no such primitive. Throws RuntimeFailure(out_of_memory) if it only
/// lacks memory, since ranks must choose alike.
std::string no_such(std::string_view primitive, const dnnl::error& error);

/// Runs one primitive. Memory objects are created once; a run only sets their addresses. A run throws
/// RuntimeFailure(out_of_memory) if oneDNN lacks memory, InternalError for its other errors.
class PrimitiveKernel : public Kernel {
 public:
  PrimitiveKernel(const dnnl::primitive& primitive, const std::vector<Argument>& arguments);
  void run(std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch) override;

 private:
  struct Bound {
    dnnl::memory memory;
    Argument::Place place;
    int64_t index;
  };
  dnnl::primitive primitive_;
  dnnl::stream stream_;
  std::vector<Bound> bound_;
  std::unordered_map<int, dnnl::memory> by_id_;
};

/// Attributes of every primitive here: the caller provides the scratchpad.
dnnl::primitive_attr user_scratchpad();

/// Returns `arguments` with the scratchpad of `pd` at byte `offset` of the scratch memory. Throws InternalError if that
/// needs more than `limit` bytes.
template <class PrimitiveDesc>
std::vector<Argument> with_scratchpad(const PrimitiveDesc& pd, std::vector<Argument> arguments, int64_t limit,
                                      int64_t offset = 0) {
  const int64_t bytes = static_cast<int64_t>(pd.scratchpad_desc().get_size());
  PARTITA_CHECK(bytes == 0 || offset + bytes <= limit, "{} bytes of scratch, {} were asked for", offset + bytes, limit);
  if (bytes > 0) arguments.push_back({DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), Argument::scratch, offset});
  return arguments;
}

/// Whether a description is that of a reference primitive, which is much slower than a conversion to f32.
template <class PrimitiveDesc>
bool is_slow(const PrimitiveDesc& pd) {
  return std::string_view(pd.impl_info_str()).find("ref") != std::string_view::npos;
}

template <class PrimitiveDesc>
int64_t scratchpad_bytes(const PrimitiveDesc& pd) {
  return static_cast<int64_t>(pd.scratchpad_desc().get_size());
}

/// The description of a forward primitive. Throws dnnl::error if there is none.
template <class Op, class... Args>
typename Op::primitive_desc describe(const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Op::primitive_desc(onednn_engine(), args..., user_scratchpad());
#else
  return typename Op::primitive_desc(typename Op::desc(args...), user_scratchpad(), onednn_engine());
#endif
}

/// The description of a backward primitive; `hint` is the description of the forward one. Throws dnnl::error if there
/// is none.
template <class Op, class Hint, class... Args>
typename Op::primitive_desc describe_backward(const Hint& hint, const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Op::primitive_desc(onednn_engine(), args..., hint, user_scratchpad());
#else
  return typename Op::primitive_desc(typename Op::desc(args...), user_scratchpad(), onednn_engine(), hint);
#endif
}

}  // namespace partita

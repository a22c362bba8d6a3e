#pragma once
// Tensors in memory formats, laid out by the names of these alone.

#include "ir/kernels/kernel_catalog.h"

namespace partita::laws {

/// Elements of a tensor in a memory format, with padding.
int64_t elements_in(const Shape& shape, const MemoryFormat& format);

/// Memory followed by a guard, filled with bytes that are a NaN in every float type.
class Memory {
 public:
  explicit Memory(int64_t bytes) : bytes_(bytes), storage_(bytes + kGuard + kAlignment, std::byte{0xff}) {}
  void* data() {
    auto address = reinterpret_cast<uintptr_t>(storage_.data());
    return reinterpret_cast<void*>((address + kAlignment - 1) / kAlignment * kAlignment);
  }
  bool intact() {
    const auto* guard = static_cast<const std::byte*>(data()) + bytes_;
    return std::all_of(guard, guard + kGuard, [](std::byte value) { return value == std::byte{0xff}; });
  }

 private:
  static constexpr int64_t kGuard = 256, kAlignment = 64;
  int64_t bytes_;
  std::vector<std::byte> storage_;
};

Memory laid_out(const Array& array, const MemoryFormat& format);
/// The tensor of a memory; `wrong` says where padding is not zero.
Array read_back(Memory& memory, const Type& type, const MemoryFormat& format, std::string& wrong);

}  // namespace partita::laws

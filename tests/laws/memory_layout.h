#pragma once
// Tensors in memory formats, laid out by the names of these alone.

#include "ir/kernels/kernel_catalog.h"
#include "runtime/device/kernel.h"

namespace partita::laws {

/// Elements of a tensor in a memory format, with padding.
int64_t elements_in(const Shape& shape, const MemoryFormat& format);
/// Bytes of a tensor in a memory format, with padding.
int64_t bytes_in(const Type& type, const MemoryFormat& format);

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

/// Results of a kernel, and where it wrote.
struct KernelRun {
  std::vector<Array> results;
  std::string overrun;  // memory past whose end it wrote, such as "output 0"; "" if there is none
  std::string padding;  // result that has other padding than zeros; "" if there is none
};

/// Runs a kernel in the memory formats of `choice`, each tensor in memory of its own. `in_place` is an input, and the
/// output that overwrites it; {-1, -1}: none.
KernelRun run_laid_out(Kernel& kernel, const KernelChoice& choice, const std::vector<Array>& operands,
                       const std::vector<Type>& results, std::pair<int, int> in_place = {-1, -1});

}  // namespace partita::laws

// Floats of 16 bits in the memory formats of oneDNN: casts between them and f32, and reorders.

#include <gtest/gtest.h>

#include <cstring>

#include "base/philox.h"
#include "ir/ops/elementwise/attrs.h"
#include "ir/ops/registry.h"
#include "runtime/device/device.h"

namespace partita {
namespace {

std::vector<std::byte> converted(Kernel& kernel, const std::vector<std::byte>& from, int64_t bytes) {
  std::vector<std::byte> to(static_cast<size_t>(bytes), std::byte{0xff});
  const void* source = from.data();
  void* target = to.data();
  kernel.run({&source, 1}, {&target, 1}, nullptr);
  return to;
}

class HalfFormats {
 public:
  HalfFormats(Shape shape, DType half, std::string tag)
      : full_{DType::f32, shape}, half_{half, shape}, device_(make_cpu_device(all_ops(), 2)) {
    in_full_.tag = in_half_.tag = std::move(tag);
    in_full_.bytes = device_->catalog().bytes(full_, in_full_);
    in_half_.bytes = device_->catalog().bytes(half_, in_half_);
  }

  /// Casts numbers to 16 bits and back, both in the format and between reorders. Expects the bits of casts of dense
  /// numbers.
  void check() {
    EXPECT_EQ(2 * in_half_.bytes, in_full_.bytes);
    std::vector<std::byte> numbers(static_cast<size_t>(full_.bytes()));
    for (int64_t i = 0; i < full_.elements(); ++i) {
      const auto number = static_cast<float>(random_normal(7, static_cast<uint64_t>(i), 0));
      std::memcpy(numbers.data() + i * 4, &number, 4);
    }
    const std::vector<std::byte> halves = cast(full_, half_, {}, numbers, half_.bytes());
    const std::vector<std::byte> full = reorder(full_, {}, in_full_, numbers);
    const std::vector<std::byte> narrowed = cast(full_, half_, in_full_, full, in_half_.bytes);
    EXPECT_EQ(reorder(half_, in_half_, {}, narrowed), halves);
    EXPECT_EQ(reorder(half_, {}, in_half_, halves), narrowed) << "with the padding, which is 0";
    const std::vector<std::byte> widened = cast(half_, full_, in_half_, narrowed, in_full_.bytes);
    EXPECT_EQ(reorder(full_, in_full_, {}, widened), cast(half_, full_, {}, halves, full_.bytes()));
  }

 private:
  std::vector<std::byte> cast(const Type& from, const Type& to, const MemoryFormat& format,
                              const std::vector<std::byte>& numbers, int64_t bytes) {
    KernelQuery query{.op = "cast", .attrs = Attrs(CastAttrs{to.dtype}), .inputs = {from}, .outputs = {to}};
    query.input_formats = {format};
    const KernelChoice choice = device_->catalog().choose(query);
    EXPECT_EQ(choice.outputs.at(0).tag, format.tag);
    return converted(*device_->make_kernel(query, choice), numbers, bytes);
  }
  std::vector<std::byte> reorder(const Type& type, const MemoryFormat& from, const MemoryFormat& to,
                                 const std::vector<std::byte>& numbers) {
    return converted(*device_->make_reorder(type, from, to), numbers, device_->catalog().bytes(type, to));
  }

  const Type full_, half_;
  const std::shared_ptr<Device> device_;
  MemoryFormat in_full_, in_half_;
};

TEST(HalfFormats, HoldWhatDenseOnesDo) {
  for (const DType half : {DType::bf16, DType::f16}) {
    for (const Shape& shape : {Shape{2, 16, 5, 3}, Shape{3, 20, 4, 4}, Shape{1, 3, 7, 9}, Shape{8, 64, 30, 31}}) {
      for (const char* tag : {"aBcd8b", "aBcd16b", "acdb"}) HalfFormats(shape, half, tag).check();
    }
  }
}

}  // namespace
}  // namespace partita

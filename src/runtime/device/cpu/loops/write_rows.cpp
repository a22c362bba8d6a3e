// Rows in place of others, without a copy of those that stay where the buffer is shared.

#include <cstring>

#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

constexpr auto kWriteRowsLoop = "loops.write_rows";

KernelChoice propose_write_rows(const KernelQuery& query) {
  return {.kernel = kWriteRowsLoop,
          .inputs = std::vector<MemoryFormat>(query.inputs.size()),
          .outputs = std::vector<MemoryFormat>(query.outputs.size()),
          .in_place = {{0, 0}}};
}

std::unique_ptr<Kernel> make_write_rows(const KernelQuery& query, const KernelChoice&) {
  const Type& type = query.inputs[0];
  const int64_t batch = type.shape[0], count = type.shape[1], given = query.inputs[1].shape[1];
  const int64_t row = type.shape[2] * static_cast<int64_t>(size_of(type.dtype)), all = batch * count * row;
  return make_loop([=](auto in, auto out, void*) {
    if (in[0] != out[0] && all > 0) std::memcpy(out[0], in[0], static_cast<size_t>(all));
    const auto* from = static_cast<const std::byte*>(in[1]);
    const auto* numbers = static_cast<const int32_t*>(in[2]);
    auto* y = static_cast<std::byte*>(out[0]);
    for (int64_t i = 0; i < batch * given; ++i, from += row) {
      const int64_t number = numbers[i];
      if (number < 0 || number >= count || row == 0) continue;
      std::memcpy(y + (i / given * count + number) * row, from, static_cast<size_t>(row));
    }
  });
}

}  // namespace

std::vector<KernelDef> write_rows_kernels() {
  return {{kWriteRowsLoop, {"write_rows"}, propose_write_rows, make_write_rows}};
}

}  // namespace partita

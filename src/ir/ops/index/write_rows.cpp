// Rows in place of others: how a cache takes the keys and values of new tokens.

#include "ir/ops/emission.h"
#include "ir/ops/kernels.h"
#include "ir/ops/support.h"

namespace partita {
namespace {

constexpr auto kWriteRows = "write_rows";

std::vector<Type> infer_write_rows(const OpCall& call) {
  const Type &x = call.inputs[0], &rows = call.inputs[1], &numbers = call.inputs[2];
  const bool fit = x.dtype == rows.dtype && x.shape[0] == rows.shape[0] && x.shape[2] == rows.shape[2] &&
                   numbers == Type{DType::i32, {rows.shape[0], rows.shape[1]}};
  if (!fit) {
    reject(kWriteRows, "operands do not fit", print(call.inputs), "x[b, n, d], rows[b, s, d] and numbers i32[b, s]");
  }
  return {x};
}

void run_write_rows(const Attrs&, Inputs in, Outputs out) {
  const Shape &x = in[0].type.shape, &rows = in[1].type.shape;
  const int64_t bytes = x[2] * static_cast<int64_t>(size_of(in[0].type.dtype));
  const auto* from = static_cast<const std::byte*>(in[1].data);
  auto* y = static_cast<std::byte*>(out[0].data);
  std::copy_n(static_cast<const std::byte*>(in[0].data), in[0].type.elements() * (x[2] > 0 ? bytes / x[2] : 0), y);
  const int32_t* numbers = in[2].as<int32_t>();
  for (int64_t b = 0; b < rows[0]; ++b) {
    for (int64_t i = 0; i < rows[1]; ++i, from += bytes) {
      const int64_t number = *numbers++;
      if (number >= 0 && number < x[1]) std::copy_n(from, bytes, y + (b * x[1] + number) * bytes);
    }
  }
}

std::vector<Hlo> emit_write_rows(const EmitCall& call) {
  const Type &x = call.inputs[0].type, &rows = call.inputs[1].type;
  if (x.elements() == 0 || rows.elements() == 0) return {call.inputs[0]};
  const int64_t batch = x.shape[0], width = x.shape[2];
  const Hlo numbers = hlo_rows_of_groups(call, call.inputs[2], batch, 0, x.shape[1]);
  const Hlo written = hlo_set_rows(call, call.reshape(call.inputs[0], {batch * x.shape[1], width}), numbers,
                                   call.reshape(call.inputs[1], {batch * rows.shape[1], width}));
  return {call.reshape(written, x.shape)};
}

}  // namespace

std::vector<OpDef> write_rows_ops() {
  OpDef op = new_op(kWriteRows,
                    "x[b, n, d] with rows[b, s, d] in place of the rows numbers[b, s]; of equal numbers the last one "
                    "counts on a CPU, any of them elsewhere; others than 0 to n - 1 are left out",
                    {.count = 3, .ranks = {{0, 3}, {1, 3}, {2, 2}}}, Attrs());
  op.infer = infer_write_rows;
  op.rule = [](const OpCall& call) {
    return einsum("bnd,bsd,bs->bnd | n:whole s:whole s:no_flops", call).linear_in({0, 1});
  };
  op.emit = emit_write_rows;
  op.flops_per_point = 0;
  op.kernel = run_write_rows;
  op.samples = {{{sample_of({2, 5, 3}), sample_of({2, 1, 3}), ids_of({2, 1}, 5)}},
                {{sample_of({3, 4, 4}), sample_of({3, 2, 4}), ids_of({3, 2}, 6)}}};
  return {op};
}

}  // namespace partita

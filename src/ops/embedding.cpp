#include "ops/support.h"

namespace partita {
namespace {

struct EmbeddingAttrs {
  int64_t begin = 0;  // global index of the first row that is held
  int64_t rows = 0;   // of the whole table; 0: those of the operand
  static constexpr auto fields() {
    return std::tuple{field("begin", &EmbeddingAttrs::begin), field("rows", &EmbeddingAttrs::rows)};
  }
};

int64_t embedding_rows_of(const EmbeddingAttrs& attrs, int64_t held) { return attrs.rows > 0 ? attrs.rows : held; }

template <class T, class EmbeddingId>
void gather(const EmbeddingAttrs& attrs, Inputs in, Outputs out) {
  const int64_t held = in[0].type.shape[0], width = in[0].type.shape[1];
  const int64_t rows = embedding_rows_of(attrs, held);
  const T* table = in[0].as<T>();
  const EmbeddingId* ids = in[1].as<EmbeddingId>();
  T* y = out[0].as<T>();
  for (int64_t i = 0; i < in[1].type.elements(); ++i, y += width) {
    const int64_t id = ids[i];
    if (id < 0 || id >= rows) {
      reject("embedding", "id is outside the table", fmt::format("{}", id), fmt::format("0 to {}", rows - 1),
             ErrorKind::index);
    }
    const int64_t row = id - attrs.begin;
    if (row >= 0 && row < held)
      std::copy_n(table + row * width, width, y);
    else
      std::fill_n(y, width, T{});
  }
}

}  // namespace

OpDef embedding_op() {
  OpDef op;
  op.name = "embedding";
  op.summary = "rows of table[v, z] by id";
  op.attrs = Attrs(EmbeddingAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    require_operands("embedding", call, 2);
    require_float("embedding", call, 0);
    require_rank("embedding", call, 0, 2);
    if (call.inputs[1].dtype != DType::i32 && call.inputs[1].dtype != DType::i64) {
      reject("embedding", "ids are not integers", print(call.inputs[1]), "i32 or i64", ErrorKind::type);
    }
    const EmbeddingAttrs& attrs = call.attrs.as<EmbeddingAttrs>();
    const int64_t held = call.inputs[0].shape[0], total = embedding_rows_of(attrs, held);
    if (attrs.begin < 0 || held > total || attrs.begin > total - held) {
      reject("embedding", "the rows are outside the table", call.attrs.print() + " of " + print(call.inputs[0]),
             "0 <= begin and begin + rows held <= rows");
    }
    Type result{call.inputs[0].dtype, call.inputs[1].shape};
    result.shape.push_back(call.inputs[0].shape[1]);
    return {result};
  };
  op.rule = [](const OpCall& call) { return einsum("vz,..->..z | v:lookup", call).linear_in({0}); };
  op.localize = [](const Attrs& attrs, const Shard& shard) {
    const Range& held = shard.inputs[0][0];
    const EmbeddingAttrs& whole = attrs.as<EmbeddingAttrs>();
    if (held.whole()) return attrs;
    return Attrs(EmbeddingAttrs{whole.begin + held.begin, embedding_rows_of(whole, held.size)});
  };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const EmbeddingAttrs& attrs = call.attrs.as<EmbeddingAttrs>();
    const int64_t held = call.inputs[0].shape()[0];
    return {call.builder.apply_fields("scatter_rows", {call.inputs[1], call.d_outputs[0]},
                                      {{"rows", to_text(held)},
                                       {"begin", to_text(attrs.begin)},
                                       {"total", to_text(embedding_rows_of(attrs, held))}}),
            Value()};
  };
  op.flops_per_point = 0;
  op.kernel = [](const Attrs& all, Inputs in, Outputs out) {
    const EmbeddingAttrs& attrs = all.as<EmbeddingAttrs>();
    for_float(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      if (in[1].type.dtype == DType::i32)
        gather<T, int32_t>(attrs, in, out);
      else
        gather<T, int64_t>(attrs, in, out);
    });
  };
  op.samples = {{{sample_of({10, 4}), ids_of({2, 3}, 10)}, Attrs(EmbeddingAttrs{})},
                {{sample_of({7, 3}), ids_of({5}, 7)}, Attrs(EmbeddingAttrs{})},
                {{sample_of({4, 3}), ids_of({6}, 8)}, Attrs(EmbeddingAttrs{2, 8})}};
  return op;
}

}  // namespace partita

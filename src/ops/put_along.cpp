#include "ops/along.h"
#include "ops/sizes.h"
#include "ops/wide.h"

namespace partita {
namespace {

struct PutAlongAttrs {
  int64_t size = 1;   // columns of the result
  int64_t begin = 0;  // global index of its first column
  int64_t total = 0;  // columns of the whole; 0: those of the result
  static constexpr auto fields() {
    return std::tuple{field("size", &PutAlongAttrs::size), field("begin", &PutAlongAttrs::begin),
                      field("total", &PutAlongAttrs::total)};
  }
};

int64_t put_along_total_of(const PutAlongAttrs& attrs) { return attrs.total > 0 ? attrs.total : attrs.size; }

std::vector<Type> infer_put_along(const OpCall& call) {
  require_along("put_along", call, /*equal_last=*/true);
  const PutAlongAttrs& attrs = call.attrs.as<PutAlongAttrs>();
  if (attrs.size < 0 || attrs.begin < 0 || attrs.total < 0 || attrs.size > put_along_total_of(attrs) ||
      attrs.begin > put_along_total_of(attrs) - attrs.size) {
    reject("put_along", "the columns are outside the tensor", call.attrs.print(),
           "0 <= begin and begin + size <= total");
  }
  Type result = call.inputs[0];
  result.shape.back() = attrs.size;
  require_shape("put_along", result.shape);
  return {result};
}

template <class T, class Index>
void put(const PutAlongAttrs& attrs, Inputs in, Outputs out) {
  const int64_t width = in[0].type.shape.back(), total = put_along_total_of(attrs);
  const T* d = in[0].as<T>();
  const auto* indices = in[1].as<Index>();
  std::vector<double> sums(out[0].type.elements(), 0);
  for (int64_t i = 0; i < in[0].type.elements(); ++i) {
    const auto index = static_cast<int64_t>(indices[i]);
    require_index("put_along", index, total);
    const int64_t column = index - attrs.begin;
    if (column < 0 || column >= attrs.size) continue;
    sums[i / width * attrs.size + column] += static_cast<double>(d[i]);
  }
  T* y = out[0].as<T>();
  for (size_t i = 0; i < sums.size(); ++i) y[i] = T(static_cast<Wide<T>>(sums[i]));
}

}  // namespace

OpDef put_along_op() {
  OpDef op;
  op.name = "put_along";
  op.summary = "y[.., z] is the sum of the d[.., k] whose indices[.., k] is z";
  op.attrs = Attrs(PutAlongAttrs{});
  op.infer = infer_put_along;
  op.rule = [](const OpCall& call) {
    const std::map<char, int64_t> sizes{{'z', call.attrs.as<PutAlongAttrs>().size}};
    return einsum("..k,..k->..z | z:uncounted", call, sizes).linear_in({0});
  };
  op.localize = [](const Attrs& all, const Shard& shard) {
    const Range& held = shard.outputs[0].back();
    const PutAlongAttrs& attrs = all.as<PutAlongAttrs>();
    if (held.whole()) return all;
    return Attrs(PutAlongAttrs{held.count(), attrs.begin + held.begin, put_along_total_of(attrs)});
  };
  op.grad = [](const GradCall& call) -> std::vector<Value> {
    const PutAlongAttrs& attrs = call.attrs.as<PutAlongAttrs>();
    return {call.builder.apply_fields("take_along", {call.d_outputs[0], call.inputs[1]},
                                      {{"begin", to_text(attrs.begin)}, {"total", to_text(put_along_total_of(attrs))}}),
            Value()};
  };
  op.kernel = [](const Attrs& all, Inputs in, Outputs out) {
    const PutAlongAttrs& attrs = all.as<PutAlongAttrs>();
    for_float(in[0].type.dtype, [&](auto zero) {
      using T = decltype(zero);
      if (in[1].type.dtype == DType::i32)
        put<T, int32_t>(attrs, in, out);
      else
        put<T, int64_t>(attrs, in, out);
    });
  };
  op.samples = {{{sample_of({4, 3}), ids_of({4, 3}, 6)}, Attrs(PutAlongAttrs{6, 0, 6})},
                {{sample_of({2, 3, 7}), ids_of({2, 3, 7}, 5)}, Attrs(PutAlongAttrs{5})},
                {{sample_of({6}), ids_of({6}, 4)}, Attrs(PutAlongAttrs{4})},
                {{sample_of({5, 4}), ids_of({5, 4}, 8)}, Attrs(PutAlongAttrs{4, 2, 8})}};
  return op;
}

}  // namespace partita

#include "ops/sizes.h"
#include "ops/support.h"

namespace partita {
namespace {

struct OneHotAttrs {
  int64_t depth = 1;    // columns that are held
  int64_t begin = 0;    // global index of the first
  int64_t classes = 0;  // ids from here on, and negative ones, are errors; 0: they have no column
  double on_value = 1, off_value = 0;
  DType dtype = DType::f32;
  static constexpr auto fields() {
    using A = OneHotAttrs;
    return std::tuple{field("depth", &A::depth),       field("begin", &A::begin),         field("classes", &A::classes),
                      field("on_value", &A::on_value), field("off_value", &A::off_value), field("dtype", &A::dtype)};
  }
};

}  // namespace

OpDef one_hot_op() {
  OpDef op;
  op.name = "one_hot";
  op.summary = "on_value in the column of the id, off_value elsewhere and for ids without a column";
  op.attrs = Attrs(OneHotAttrs{});
  op.infer = [](const OpCall& call) -> std::vector<Type> {
    require_operands("one_hot", call, 1);
    const OneHotAttrs& attrs = call.attrs.as<OneHotAttrs>();
    if (call.inputs[0].dtype != DType::i32 && call.inputs[0].dtype != DType::i64) {
      reject("one_hot", "ids are not integers", print(call.inputs[0]), "i32 or i64", ErrorKind::type);
    }
    if (attrs.depth < 1 || attrs.begin < 0 || !is_float(attrs.dtype)) {
      reject("one_hot", "bad attributes", call.attrs.print(),
             "depth of at least 1, begin of at least 0 and a float dtype");
    }
    Type result{attrs.dtype, call.inputs[0].shape};
    result.shape.push_back(attrs.depth);
    require_shape("one_hot", result.shape);
    return {result};
  };
  op.rule = [](const OpCall& call) { return einsum("..->..z", call, {{'z', call.attrs.as<OneHotAttrs>().depth}}); };
  op.localize = [](const Attrs& attrs, const Shard& shard) {
    OneHotAttrs local = attrs.as<OneHotAttrs>();
    local.depth = shard.outputs[0].back().count();
    local.begin += shard.outputs[0].back().begin;
    return Attrs(local);
  };
  op.grad = [](const GradCall&) -> std::vector<Value> { return {Value()}; };
  op.flops_per_point = 0;
  op.kernel = [](const Attrs& all, Inputs in, Outputs out) {
    const OneHotAttrs& attrs = all.as<OneHotAttrs>();
    for_integer(in[0].type.dtype, [&](auto id_zero) {
      const auto* ids = in[0].as<decltype(id_zero)>();
      for_float(attrs.dtype, [&](auto zero) {
        using T = decltype(zero);
        using Number = std::conditional_t<std::is_same_v<T, double>, double, float>;
        T* y = out[0].as<T>();
        std::fill_n(y, out[0].type.elements(), T(static_cast<Number>(attrs.off_value)));
        for (int64_t i = 0; i < in[0].type.elements(); ++i) {
          const int64_t id = static_cast<int64_t>(ids[i]);
          if (attrs.classes > 0 && (id < 0 || id >= attrs.classes)) {
            throw InvalidArgument(
                fmt::format("[one_hot] label of row {} is outside the classes, got {}, expected 0 to {}", i, id,
                            attrs.classes - 1),
                ErrorKind::index);
          }
          if (id < attrs.begin || id - attrs.begin >= attrs.depth) continue;
          y[i * attrs.depth + id - attrs.begin] = T(static_cast<Number>(attrs.on_value));
        }
      });
    });
  };
  op.samples = {{{ids_of({4}, 6)}, Attrs(OneHotAttrs{6, 0, 0, 1, 0, DType::f64})},
                {{ids_of({2, 3}, 5)}, Attrs(OneHotAttrs{5, 0, 5, 0.9, 0.1, DType::f64})},
                {{ids_of({5}, 7)}, Attrs(OneHotAttrs{4, 2, 0, 1, 0, DType::f64})}};
  return op;
}

}  // namespace partita

// The updates of the optimizers: one pass over weight, gradient and optimizer state, in the weight's memory format.

#include "ir/ops/update/updates.h"

#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

template <class T>
LoopFn bind_sgd(const SgdAttrs& attrs, int64_t count) {
  return [=](auto in, auto out, void*) {
    const T *w = static_cast<const T*>(in[0]), *g = static_cast<const T*>(in[1]);
    const SgdStep<T> step(attrs, *static_cast<const T*>(in[2]));
    T* new_w = static_cast<T*>(out[0]);
#pragma omp parallel for simd if (count > kSerialElements)
    for (int64_t i = 0; i < count; ++i) {
      T weight = w[i];
      step.apply(g[i], weight);
      new_w[i] = weight;
    }
  };
}

template <class T>
LoopFn bind_momentum(const MomentumAttrs& attrs, int64_t count) {
  return [=](auto in, auto out, void*) {
    const T *w = static_cast<const T*>(in[0]), *g = static_cast<const T*>(in[1]), *v = static_cast<const T*>(in[2]);
    const MomentumStep<T> step(attrs, *static_cast<const T*>(in[3]));
    T *new_w = static_cast<T*>(out[0]), *new_v = static_cast<T*>(out[1]);
#pragma omp parallel for simd if (count > kSerialElements)
    for (int64_t i = 0; i < count; ++i) {
      T weight = w[i], velocity = v[i];
      step.apply(g[i], weight, velocity);
      new_w[i] = weight;
      new_v[i] = velocity;
    }
  };
}

template <class T>
LoopFn bind_adam(const AdamAttrs& attrs, int64_t count) {
  return [=](auto in, auto out, void*) {
    const T *w = static_cast<const T*>(in[0]), *g = static_cast<const T*>(in[1]);
    const T *m = static_cast<const T*>(in[2]), *v = static_cast<const T*>(in[3]);
    const AdamStep<T> step(attrs, *static_cast<const T*>(in[4]), *static_cast<const int64_t*>(in[5]));
    T *new_w = static_cast<T*>(out[0]), *new_m = static_cast<T*>(out[1]), *new_v = static_cast<T*>(out[2]);
#pragma omp parallel for simd if (count > kSerialElements)
    for (int64_t i = 0; i < count; ++i) {
      T weight = w[i], first = m[i], second = v[i];
      step.apply(g[i], weight, first, second);
      new_w[i] = weight;
      new_m[i] = first;
      new_v[i] = second;
    }
  };
}

KernelChoice propose_update(const KernelQuery& query) {
  if (const std::string reason = unsupported_by_loops(query); !reason.empty()) return refuse(reason);
  const MemoryFormat format = query.input_formats[0].any() ? MemoryFormat{} : query.input_formats[0];
  KernelChoice choice{.kernel = "loops." + query.op,
                      .inputs = std::vector<MemoryFormat>(query.inputs.size(), format),
                      .outputs = std::vector<MemoryFormat>(query.outputs.size(), format)};
  choice.in_place = {{0, 0}};
  for (size_t i = 0; i < query.inputs.size(); ++i) {
    if (query.inputs[i].shape != query.inputs[0].shape)
      choice.inputs[i] = MemoryFormat{};  // the learning rate, the step
  }
  for (int output = 1; output < static_cast<int>(query.outputs.size()); ++output)
    choice.in_place.emplace_back(output + 1, output);
  return choice;
}

/// Defines the kernel of an update. `bind(attributes, zero of float or double, elements)` makes its loop.
template <class A, class Bind>
KernelDef update_kernel(const std::string& op, Bind bind) {
  KernelDef def{.name = "loops." + op, .ops = {op}, .propose = propose_update};
  def.make = [bind](const KernelQuery& query, const KernelChoice& choice) {
    LoopFn loop;
    for_loop_type(query.outputs[0].dtype, [&](auto zero) {
      loop = bind(query.attrs.as<A>(), zero, stored_elements(query.outputs[0], choice.outputs[0]));
    });
    return make_loop(std::move(loop));
  };
  return def;
}

}  // namespace

std::vector<KernelDef> updates_kernels() {
  return {update_kernel<SgdAttrs>("sgd", [](const SgdAttrs& attrs, auto zero,
                                            int64_t count) { return bind_sgd<decltype(zero)>(attrs, count); }),
          update_kernel<MomentumAttrs>("momentum",
                                       [](const MomentumAttrs& attrs, auto zero, int64_t count) {
                                         return bind_momentum<decltype(zero)>(attrs, count);
                                       }),
          update_kernel<AdamAttrs>("adam", [](const AdamAttrs& attrs, auto zero, int64_t count) {
            return bind_adam<decltype(zero)>(attrs, count);
          })};
}

}  // namespace partita

// The updates of the optimizers: one pass over weight, gradient and slots, in the weight's layout.

#include "ops/updates.h"

#include "device/cpu/loops/loop_support.h"

namespace partita {
namespace {

template <class T>
LoopFn bind_sgd(const SgdAttrs& attrs, int64_t count) {
  return [count, decay = static_cast<T>(attrs.weight_decay)](auto in, auto out, void*) {
    const T *w = static_cast<const T*>(in[0]), *g = static_cast<const T*>(in[1]);
    const T rate = *static_cast<const T*>(in[2]);
    T* updated = static_cast<T*>(out[0]);
#pragma omp parallel for simd if (count > kSerialElements)
    for (int64_t i = 0; i < count; ++i) updated[i] = w[i] - rate * (g[i] + decay * w[i]);
  };
}

template <class T>
LoopFn bind_momentum(const MomentumAttrs& attrs, int64_t count) {
  const T decay = static_cast<T>(attrs.weight_decay), keep = static_cast<T>(attrs.momentum);
  const T take = static_cast<T>(1 - attrs.dampening);
  // step = velocity, or gradient + keep * velocity with Nesterov
  const T of_gradient = attrs.nesterov ? T{1} : T{0}, of_velocity = attrs.nesterov ? keep : T{1};
  return [=](auto in, auto out, void*) {
    const T *w = static_cast<const T*>(in[0]), *g = static_cast<const T*>(in[1]), *v = static_cast<const T*>(in[2]);
    const T rate = *static_cast<const T*>(in[3]);
    T *new_w = static_cast<T*>(out[0]), *new_v = static_cast<T*>(out[1]);
#pragma omp parallel for simd if (count > kSerialElements)
    for (int64_t i = 0; i < count; ++i) {
      const T gradient = g[i] + decay * w[i];
      const T velocity = keep * v[i] + take * gradient;
      new_v[i] = velocity;
      new_w[i] = w[i] - rate * (of_gradient * gradient + of_velocity * velocity);
    }
  };
}

KernelChoice propose(const KernelQuery& query) {
  if (const std::string reason = unsupported_by_loops(query); !reason.empty()) return refuse(reason);
  const Layout layout = query.input_layouts[0].any() ? Layout{} : query.input_layouts[0];
  KernelChoice choice{.kernel = "loops.updates",
                      .inputs = std::vector<Layout>(query.inputs.size(), layout),
                      .outputs = std::vector<Layout>(query.outputs.size(), layout)};
  choice.inputs.back() = Layout{};  // the learning rate
  choice.in_place = {{0, 0}};
  if (query.op == "momentum") choice.in_place.emplace_back(2, 1);
  return choice;
}

}  // namespace

KernelDef updates_kernel() {
  KernelDef def{.name = "loops.updates", .ops = {"sgd", "momentum"}, .propose = propose};
  def.make = [](const KernelQuery& query, const KernelChoice& choice) {
    const int64_t count = stored_elements(query.outputs[0], choice.outputs[0]);
    LoopFn fn;
    for_loop_type(query.outputs[0].dtype, [&](auto zero) {
      using T = decltype(zero);
      fn = query.op == "sgd" ? bind_sgd<T>(query.attrs.as<SgdAttrs>(), count)
                             : bind_momentum<T>(query.attrs.as<MomentumAttrs>(), count);
    });
    return make_loop(std::move(fn));
  };
  return def;
}

}  // namespace partita

// The updates of the optimizers: one pass over weight, gradient and slots, in the weight's layout.

#include "ops/update/updates.h"

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

LoopFn bind_updates(const KernelQuery& query, int64_t count) {
  LoopFn fn;
  for_loop_type(query.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    if (query.op == "sgd") fn = bind_sgd<T>(query.attrs.as<SgdAttrs>(), count);
    if (query.op == "momentum") fn = bind_momentum<T>(query.attrs.as<MomentumAttrs>(), count);
    if (query.op == "adam") fn = bind_adam<T>(query.attrs.as<AdamAttrs>(), count);
  });
  return fn;
}

KernelChoice propose_updates(const KernelQuery& query) {
  if (const std::string reason = unsupported_by_loops(query); !reason.empty()) return refuse(reason);
  const Layout layout = query.input_layouts[0].any() ? Layout{} : query.input_layouts[0];
  KernelChoice choice{.kernel = "loops.updates",
                      .inputs = std::vector<Layout>(query.inputs.size(), layout),
                      .outputs = std::vector<Layout>(query.outputs.size(), layout)};
  choice.in_place = {{0, 0}};
  for (size_t i = 0; i < query.inputs.size(); ++i) {
    if (query.inputs[i].shape != query.inputs[0].shape) choice.inputs[i] = Layout{};  // the learning rate, the step
  }
  for (int slot = 1; slot < static_cast<int>(query.outputs.size()); ++slot)
    choice.in_place.emplace_back(slot + 1, slot);
  return choice;
}

}  // namespace

std::vector<KernelDef> updates_kernels() {
  KernelDef def{.name = "loops.updates", .ops = {"sgd", "momentum", "adam"}, .propose = propose_updates};
  def.make = [](const KernelQuery& query, const KernelChoice& choice) {
    const int64_t count = stored_elements(query.outputs[0], choice.outputs[0]);
    return make_loop(bind_updates(query, count));
  };
  return {def};
}

}  // namespace partita

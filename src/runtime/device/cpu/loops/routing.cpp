// Copies rows to the slots of experts and back. Slots are checked before the loops, which must not throw.

#include "ir/ops/routing/routing.h"

#include <algorithm>

#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

constexpr auto kRouting = "loops.routing";
constexpr int64_t kRoutingBlock = 256;  // columns that one thread sums in the slots of a group

/// A call, and the range of slots that this shard has.
struct RoutingCall {
  std::string op;
  RoutingSizes sizes;
  int64_t begin = 0, total = 0;
  bool weighted = false;

  int64_t given() const { return sizes.groups * sizes.tokens * sizes.choices; }
  /// The row of a slot, as `row_of_slot` returns it: -1 if another shard has it or it means no slot. Does not check it:
  /// call `require_slots` first.
  template <class Slot>
  int64_t row(Slot slot) const {
    const int64_t at = static_cast<int64_t>(slot) - begin;
    return slot < total && at >= 0 && at < sizes.slots ? at : -1;
  }
  template <class Slot>
  void require_slots(const Slot* slots) const {
    for (int64_t i = 0; i < given(); ++i) row_of_slot(op, slots[i], begin, sizes.slots, total);
  }
};

RoutingCall routing_call(const KernelQuery& query) {
  RoutingCall call{.op = query.op, .weighted = query.op != "combine_grad_weights" && query.inputs.size() == 3};
  if (query.op == "dispatch") {
    const auto& attrs = query.attrs.as<DispatchAttrs>();
    call.sizes = routing_sizes(query.inputs[1], query.outputs[0]);
    call.begin = attrs.begin;
    call.total = attrs.whole();
  } else {
    const auto& attrs = query.attrs.as<CombineAttrs>();
    call.sizes = routing_sizes(query.inputs[1], query.inputs[0]);
    call.begin = attrs.begin;
    call.total = attrs.whole(call.sizes.slots);
  }
  return call;
}

template <class T>
void add_row(const T* from, T weight, int64_t count, T* to) {
#pragma omp simd
  for (int64_t z = 0; z < count; ++z) to[z] += weight * from[z];
}

/// Binds dispatch. A thread takes some columns of a group at a time and adds up the rows of each slot. The loop throws
/// InvalidArgument for a slot that is out of range.
template <class T, class Slot>
LoopFn bind_dispatch(const RoutingCall& call) {
  return [=](auto in, auto out, void*) {
    const int64_t groups = call.sizes.groups, tokens = call.sizes.tokens, choices = call.sizes.choices,
                  rows = call.sizes.slots, width = call.sizes.width;
    const T* x = static_cast<const T*>(in[0]);
    const Slot* slots = static_cast<const Slot*>(in[1]);
    const T* weights = call.weighted ? static_cast<const T*>(in[2]) : nullptr;
    T* y = static_cast<T*>(out[0]);
    call.require_slots(slots);
    const int64_t blocks = (width + kRoutingBlock - 1) / kRoutingBlock;
#pragma omp parallel for if (groups * rows * width > kSerialElements)
    for (int64_t task = 0; task < groups * blocks; ++task) {
      const int64_t group = task / blocks, first = task % blocks * kRoutingBlock;
      const int64_t count = std::min(kRoutingBlock, width - first);
      T* to = y + group * rows * width + first;
      for (int64_t row = 0; row < rows; ++row) std::fill_n(to + row * width, count, T{});
      for (int64_t i = 0; i < tokens * choices; ++i) {
        const int64_t at = group * tokens * choices + i, row = call.row(slots[at]);
        if (row < 0) continue;
        add_row(x + (group * tokens + i / choices) * width + first, weights ? weights[at] : T{1}, count,
                to + row * width);
      }
    }
  };
}

template <class T, class Slot>
LoopFn bind_combine(const RoutingCall& call) {
  return [=](auto in, auto out, void*) {
    const int64_t groups = call.sizes.groups, tokens = call.sizes.tokens, choices = call.sizes.choices,
                  rows = call.sizes.slots, width = call.sizes.width;
    const T* y = static_cast<const T*>(in[0]);
    const Slot* slots = static_cast<const Slot*>(in[1]);
    const T* weights = call.weighted ? static_cast<const T*>(in[2]) : nullptr;
    T* x = static_cast<T*>(out[0]);
    call.require_slots(slots);
#pragma omp parallel for if (groups * tokens * width > kSerialElements)
    for (int64_t token = 0; token < groups * tokens; ++token) {
      const T* from = y + token / tokens * rows * width;
      T* to = x + token * width;
      std::fill_n(to, width, T{});
      for (int64_t at = token * choices; at < (token + 1) * choices; ++at) {
        const int64_t row = call.row(slots[at]);
        if (row >= 0) add_row(from + row * width, weights ? weights[at] : T{1}, width, to);
      }
    }
  };
}

template <class T, class Slot>
LoopFn bind_combine_grad_weights(const RoutingCall& call) {
  return [=](auto in, auto out, void*) {
    const int64_t groups = call.sizes.groups, tokens = call.sizes.tokens, choices = call.sizes.choices,
                  rows = call.sizes.slots, width = call.sizes.width;
    const T *y = static_cast<const T*>(in[0]), *d = static_cast<const T*>(in[2]);
    const Slot* slots = static_cast<const Slot*>(in[1]);
    T* d_weights = static_cast<T*>(out[0]);
    call.require_slots(slots);
#pragma omp parallel for if (groups * tokens * width > kSerialElements)
    for (int64_t token = 0; token < groups * tokens; ++token) {
      const T* from = y + token / tokens * rows * width;
      for (int64_t at = token * choices; at < (token + 1) * choices; ++at) {
        const int64_t row = call.row(slots[at]);
        double sum = 0;
        const int64_t count = row < 0 ? 0 : width;
        const T* made = from + std::max<int64_t>(row, 0) * width;
#pragma omp simd reduction(+ : sum)
        for (int64_t z = 0; z < count; ++z) {
          sum += static_cast<double>(made[z]) * static_cast<double>(d[token * width + z]);
        }
        d_weights[at] = static_cast<T>(sum);
      }
    }
  };
}

template <class T, class Slot>
LoopFn bind_routing(const RoutingCall& call) {
  if (call.op == "dispatch") return bind_dispatch<T, Slot>(call);
  return call.op == "combine" ? bind_combine<T, Slot>(call) : bind_combine_grad_weights<T, Slot>(call);
}

}  // namespace

std::vector<KernelDef> routing_kernels() {
  KernelDef def{.name = kRouting,
                .ops = {"dispatch", "combine", "combine_grad_weights"},
                .propose = [](const KernelQuery& query) { return propose_dense(kRouting, query); }};
  def.make = [](const KernelQuery& query, const KernelChoice&) {
    const RoutingCall call = routing_call(query);
    const bool wide = query.inputs[1].dtype == DType::i64;
    LoopFn loop;
    for_loop_type(query.inputs[0].dtype, [&](auto zero) {
      using T = decltype(zero);
      loop = wide ? bind_routing<T, int64_t>(call) : bind_routing<T, int32_t>(call);
    });
    return make_loop(std::move(loop));
  };
  return {def};
}

}  // namespace partita

#include "runtime/execute/node_kernels.h"

#include <omp.h>

#include <algorithm>
#include <utility>

#include "base/held_signals.h"
#include "compiler/schedule/schedule.h"
#include "ir/graph/rules.h"
#include "ir/work/flops.h"
#include "runtime/device/cpu/team.h"
#include "runtime/execute/subnormals.h"

namespace partita {
namespace {

constexpr int64_t kFewElements = 4096;           // operands and results of fewer are not worth a look-up
constexpr double kManyFlops = 2e5;               // from here on, a kernel of the device is worth its choice
constexpr size_t kMaxKept = 256;                 // kernels; shapes and attributes may differ from call to call
constexpr size_t kMaxRefused = 4096;             // calls without one
constexpr int64_t kMaxRoom = int64_t{64} << 20;  // bytes that are kept between calls

/// The settings of OpenMP of the calling thread, which it has again in the end.
struct TeamSettings {
  ~TeamSettings() {
    omp_set_dynamic(dynamic);
    omp_set_max_active_levels(levels);
    omp_set_num_threads(threads);
  }
  TeamSettings& operator=(TeamSettings&&) = delete;

  int dynamic = omp_get_dynamic(), levels = omp_get_max_active_levels(), threads = omp_get_max_threads();
};

/// Gives the calling thread the compute threads of the device, and its own settings back in the end.
class EnteredTeam {
 public:
  explicit EnteredTeam(Device& device) { device.enter_thread(); }

 private:
  TeamSettings before_;
};

int64_t all_elements(Inputs inputs, Outputs outputs) {
  int64_t count = 0;
  for (const ConstTensor& one : inputs) count += one.type.elements();
  for (const Tensor& one : outputs) count += one.type.elements();
  return count;
}

std::vector<Type> types_of(const auto& tensors) {
  std::vector<Type> types;
  for (const auto& one : tensors) types.push_back(one.type);
  return types;
}

}  // namespace

struct NodeKernels::Bound {
  /// A conversion between the dense order of a tensor and the memory format of a kernel.
  struct Conversion {
    std::unique_ptr<Kernel> kernel;  // null: the kernel takes the tensor as it is
    int64_t at = 0;                  // offset of the converted tensor in the room
  };

  std::unique_ptr<Kernel> kernel;
  std::vector<Conversion> before, after;  // by operand and result
  int64_t scratch_at = 0, bytes = 0;      // where scratch memory begins in the room, and what the room must hold
  std::optional<Subnormals> subnormals;
  uint64_t used = 0;  // the last call that ran it
};

NodeKernels::NodeKernels(const OpSet& ops, int threads) : ops_(ops), device_(make_cpu_device(ops, threads)) {}

NodeKernels::~NodeKernels() = default;

void NodeKernels::run(const Graph& graph, size_t node, Inputs inputs, Outputs outputs) {
  const Node& called = graph.nodes[node];
  if (all_elements(inputs, outputs) >= kFewElements && !has_lost_team()) {
    if (Bound* const found = bound(graph, node, inputs, outputs)) return run_bound(*found, inputs, outputs);
  }
  const SubnormalScope scope(subnormals_of(graph, called));
  ops_.at(called.op).kernel(called.attrs, inputs, outputs);
}

NodeKernels::Bound* NodeKernels::bound(const Graph& graph, size_t node, Inputs inputs, Outputs outputs) {
  const Node& called = graph.nodes[node];
  key_ = called.op;
  key_ += called.attrs.print();
  for (const ConstTensor& one : inputs) key_ += print(one.type);
  key_ += '>';
  for (const Tensor& one : outputs) key_ += print(one.type);
  ++calls_;
  if (const auto found = kept_.find(key_); found != kept_.end()) {
    found->second->used = calls_;
    return found->second.get();
  }
  if (refused_.contains(key_)) return nullptr;
  std::unique_ptr<Bound> made =
      flops_of(Rules(graph, ops_), node) < kManyFlops ? nullptr : make_bound(called, inputs, outputs);
  if (made == nullptr) {
    if (refused_.size() >= kMaxRefused) refused_.clear();
    refused_.insert(key_);
    return nullptr;
  }
  if (kept_.size() >= kMaxKept) forget_half();
  made->used = calls_;
  made->subnormals = subnormals_of(graph, called);
  return (kept_[key_] = std::move(made)).get();
}

void NodeKernels::forget_half() {
  std::vector<uint64_t> times;
  for (const auto& [key, one] : kept_) times.push_back(one->used);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  std::erase_if(kept_, [&](const auto& one) { return one.second->used < *middle; });
}

std::unique_ptr<NodeKernels::Bound> NodeKernels::make_bound(const Node& called, Inputs inputs, Outputs outputs) {
  const HeldSignals held;
  const EnteredTeam team(*device_);
  KernelQuery query{.op = called.op, .attrs = called.attrs, .inputs = types_of(inputs), .outputs = types_of(outputs)};
  query.input_formats.resize(inputs.size());
  const KernelChoice choice = device_->catalog().choose(query);
  if (!choice.accepted() || choice.kernel == "reference" || choice.view) return nullptr;
  query.input_formats = choice.inputs;
  auto bound = std::make_unique<Bound>();
  bound->kernel = device_->make_kernel(query, choice);
  const auto take = [&](int64_t bytes) { return std::exchange(bound->bytes, bound->bytes + aligned(bytes)); };
  const auto convert = [&](const Type& type, const MemoryFormat& from, const MemoryFormat& to) -> Bound::Conversion {
    if (from.plain() && to.plain()) return {};
    const MemoryFormat& other = from.plain() ? to : from;
    return {device_->make_reorder(type, from, to), take(device_->catalog().bytes(type, other))};
  };
  for (size_t i = 0; i < query.inputs.size(); ++i) {
    bound->before.push_back(convert(query.inputs[i], {}, choice.inputs[i]));
  }
  for (size_t i = 0; i < query.outputs.size(); ++i) {
    bound->after.push_back(convert(query.outputs[i], choice.outputs[i], {}));
  }
  bound->scratch_at = take(choice.scratch_bytes);
  return bound;
}

void NodeKernels::run_bound(Bound& bound, Inputs inputs, Outputs outputs) {
  if (room_bytes_ < bound.bytes) {
    room_ = nullptr;
    room_bytes_ = 0;
    room_ = device_->allocate(bound.bytes);
    room_bytes_ = bound.bytes;
  }
  auto* const room = static_cast<std::byte*>(room_.get());
  std::vector<const void*> in;
  std::vector<void*> out;
  const HeldSignals held;
  const EnteredTeam team(*device_);
  {
    DeviceSubnormals subnormals(*device_);
    subnormals.set(bound.subnormals);
    for (size_t i = 0; i < inputs.size(); ++i) {
      in.push_back(inputs[i].data);
      if (bound.before[i].kernel == nullptr) continue;
      void* const converted = room + bound.before[i].at;
      bound.before[i].kernel->run(std::span(&in.back(), 1), std::span(&converted, 1), nullptr);
      in.back() = converted;
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      out.push_back(bound.after[i].kernel == nullptr ? outputs[i].data : room + bound.after[i].at);
    }
    bound.kernel->run(in, out, room + bound.scratch_at);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (bound.after[i].kernel == nullptr) continue;
      const void* const made = out[i];
      void* const result = outputs[i].data;
      bound.after[i].kernel->run(std::span(&made, 1), std::span(&result, 1), nullptr);
    }
  }
  if (room_bytes_ > kMaxRoom) {
    room_ = nullptr;
    room_bytes_ = 0;
  }
}

}  // namespace partita

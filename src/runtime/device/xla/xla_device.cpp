#include "runtime/device/xla/xla_device.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "compiler/emit/emit_node.h"
#include "compiler/emit/segments.h"
#include "runtime/device/cpu/reference.h"

namespace partita {
namespace {

/// Ops whose emissions take floats of 16 bits and give wider ones. The convolutions round them, as cuDNN does.
const std::set<std::string_view> kMixing{"conv2d", "conv2d_grad_filter", "conv2d_grad_input", "matmul", "matmul_rows"},
    kRounding{"conv2d", "conv2d_grad_filter", "conv2d_grad_input"};

/// Every node runs as a part of a program, in plain formats, except what cannot be written: that runs on the host.
class XlaCatalog final : public KernelCatalog {
 public:
  XlaCatalog(const OpSet& ops, bool has_cudnn) : ops_(ops), has_cudnn_(has_cudnn) {}

  KernelChoice choose(const KernelQuery& query) const override {
    const OpDef& op = ops_.at(query.op);
    std::string reason;
    if (has_cudnn_ && op.cudnn && (!query.like || query.like->kernel == kCudnnKernel)) {
      reason = op.cudnn->refusal({query.attrs, query.inputs, query.outputs});
      if (reason.empty()) {
        KernelChoice choice = plain(kCudnnKernel, query);
        choice.rounds = true;
        return choice;
      }
    }
    KernelChoice choice = propose_reference(op, query);
    if (!choice.accepted()) {  // it mixes floats
      if (!kMixing.contains(op.name) || !are_halves(query.inputs)) return choice;
      choice = plain(kProgramKernel, query);
      choice.rounds = kRounding.contains(op.name);
      // In f32 the gradient of a filter, which is a part on each rank and in each micro-batch, would take many times as
      // long.
      choice.rounds_parts = op.name == "conv2d_grad_filter";
    } else if (can_write(op, query)) {
      choice.kernel = kProgramKernel;
    }
    choice.reason = std::move(reason);
    if (query.like && query.like->kernel != choice.kernel) {
      return refuse(fmt::format("another shard of the node runs as {}", query.like->kernel));
    }
    return choice;
  }

  int64_t bytes(const Type& type, const MemoryFormat& format) const override {
    if (format.plain() || format.any()) return type.bytes();
    throw InvalidArgument("[xla] accelerators have one memory format, got {}, expected plain", format.tag);
  }

 private:
  static KernelChoice plain(std::string_view kernel, const KernelQuery& query) {
    return {.kernel = std::string(kernel),
            .inputs = std::vector<MemoryFormat>(query.inputs.size()),
            .outputs = std::vector<MemoryFormat>(query.outputs.size())};
  }

  static bool are_halves(const std::vector<Type>& types) {
    return std::ranges::all_of(types, [&](const Type& type) {
      return type.dtype == types[0].dtype && (type.dtype == DType::bf16 || type.dtype == DType::f16);
    });
  }

  bool can_write(const OpDef& op, const KernelQuery& query) const {
    if (op.emit) return true;
    try {
      module_of_node(ops_, op, query.attrs, query.inputs, query.outputs);
      return true;
    } catch (const InvalidArgument&) {
      return false;
    }
  }

  const OpSet& ops_;
  const bool has_cudnn_;  // whether calls of cuDNN are asked for
};

/// Keeps what the host needs in memory of the CPU: operands of collectives and of nodes that run there.
class XlaDevice final : public Device {
 public:
  XlaDevice(const OpSet& ops, const DeviceOptions& options)
      : name_(options.name),
        index_(options.index),
        collectives_(options.collectives),
        deterministic_(options.deterministic),
        memory_(options.memory),
        warn_(options.warn),
        catalog_(ops, options.attention == AttentionMode::fused),
        host_(make_cpu_device(ops, options.threads, KernelSet::reference)) {}
  XlaDevice(const OpSet& ops, Accelerator accelerator, int threads, CollectiveMode collectives)
      : XlaDevice(ops, DeviceOptions{.threads = threads, .collectives = collectives}) {
    accelerator_ = std::move(accelerator);
  }

  const KernelCatalog& catalog() const override { return catalog_; }
  std::shared_ptr<void> allocate(int64_t bytes) override { return host_->allocate(bytes); }
  void discard(void* begin, int64_t bytes) override { host_->discard(begin, bytes); }
  std::unique_ptr<Kernel> make_kernel(const KernelQuery& query, const KernelChoice& choice) override {
    return host_->make_kernel(query, choice);
  }
  std::unique_ptr<Kernel> make_reorder(const Type& type, const MemoryFormat& from, const MemoryFormat& to) override {
    return host_->make_reorder(type, from, to);
  }
  std::unique_ptr<RowReader> make_row_reader(const Type& type, const MemoryFormat& from) override {
    return host_->make_row_reader(type, from);
  }
  void enter_thread() override { host_->enter_thread(); }
  void set_subnormals(SubnormalSetting setting) override { host_->set_subnormals(setting); }
  const Accelerator* accelerator() override {
    if (!accelerator_)
      accelerator_ = Accelerator::open(name_, index_,
                                       {.collectives = collectives_,
                                        .deterministic = deterministic_,
                                        .memory = memory_,
                                        .process = process_,
                                        .warn = warn_});
    return &*accelerator_;
  }
  void join(const JoinedProcess& place) override { process_ = place; }
  std::string plugin_text() const override {
    if (accelerator_) return "";
    const std::filesystem::path path = find_plugin(name_);
    std::error_code none;
    return fmt::format("{} of {} bytes", path.filename().string(), std::filesystem::file_size(path, none));
  }
  CollectiveMode collectives() const override { return collectives_; }

 private:
  const std::string name_;
  const int index_;
  const CollectiveMode collectives_;
  const bool deterministic_;
  const double memory_;
  const Warn warn_;
  const XlaCatalog catalog_;
  const std::unique_ptr<Device> host_;
  std::optional<JoinedProcess> process_;
  std::optional<Accelerator> accelerator_;
};

}  // namespace

std::unique_ptr<Device> make_device(const OpSet& ops, const DeviceOptions& options) {
  if (options.name == "cpu") return make_cpu_device(ops, options.threads, options.kernels);
  require_accelerator(options.name);
  return std::make_unique<XlaDevice>(ops, options);
}

std::unique_ptr<Device> make_device(const OpSet& ops, Accelerator accelerator, int threads,
                                    CollectiveMode collectives) {
  return std::make_unique<XlaDevice>(ops, std::move(accelerator), threads, collectives);
}

}  // namespace partita

#include "support/mixing_device.h"

#include <algorithm>

#include "ir/ops/registry.h"

namespace partita {
namespace {

constexpr std::string_view kMixing = "mixing.";

/// Whether a query is for a product with a bf16 operand that its op rounds.
bool is_mixed_product(const KernelQuery& query) {
  const OpDef* op = all_ops().find(query.op);
  if (op == nullptr) return false;
  const std::vector<int>& operands = op->traits.halves.operands;
  return !operands.empty() && std::all_of(operands.begin(), operands.end(), [&](int operand) {
    return query.inputs.at(static_cast<size_t>(operand)).dtype == DType::bf16;
  });
}

Type widened(const Type& type) { return type.dtype == DType::bf16 ? Type{DType::f32, type.shape} : type; }

/// Returns the query with f32 in place of bf16.
KernelQuery wide_query(KernelQuery query, const KernelCatalog& catalog) {
  const auto widen = [&](std::vector<Type>& types, std::vector<MemoryFormat>& formats) {
    for (size_t i = 0; i < types.size(); ++i) {
      types[i] = widened(types[i]);
      if (i < formats.size() && formats[i].bytes > 0) formats[i].bytes = catalog.bytes(types[i], formats[i]);
    }
  };
  if (query.like) {
    query.like->kernel = query.like->kernel.substr(kMixing.size());
    widen(query.inputs, query.like->inputs);
    widen(query.outputs, query.like->outputs);
  }
  std::vector<MemoryFormat> none;
  widen(query.inputs, query.input_formats);
  widen(query.outputs, none);
  return query;
}

class MixingCatalog final : public KernelCatalog {
 public:
  explicit MixingCatalog(const KernelCatalog& catalog) : catalog_(catalog) {}

  KernelChoice choose(const KernelQuery& query) const override {
    if (!is_mixed_product(query)) return catalog_.choose(query);
    if (query.like && !query.like->kernel.starts_with(kMixing)) return catalog_.choose(query);
    KernelChoice choice = catalog_.choose(wide_query(query, catalog_));
    if (!choice.accepted()) return choice;
    choice.kernel = std::string(kMixing) + choice.kernel;
    choice.in_place.clear();
    for (size_t i = 0; i < query.inputs.size(); ++i) narrow(choice.inputs[i], query.inputs[i]);
    for (size_t k = 0; k < query.outputs.size(); ++k) narrow(choice.outputs[k], query.outputs[k]);
    return choice;
  }
  int64_t bytes(const Type& type, const MemoryFormat& format) const override { return catalog_.bytes(type, format); }

 private:
  void narrow(MemoryFormat& format, const Type& type) const {
    if (!format.plain()) format.bytes = catalog_.bytes(type, format);
  }

  const KernelCatalog& catalog_;
};

/// Widens bf16 operands, runs a kernel of f32, and rounds bf16 results. Elements that pad a memory format are
/// converted like the others.
class MixingKernel final : public Kernel {
 public:
  MixingKernel(std::unique_ptr<Kernel> wide, const KernelQuery& query, const KernelChoice& choice,
               const KernelCatalog& catalog)
      : wide_(std::move(wide)) {
    const auto add = [&](const Type& type, const MemoryFormat& format, std::vector<std::vector<float>>& copies) {
      const auto count = static_cast<size_t>(catalog.bytes(type, format)) / sizeof(bf16);
      copies.emplace_back(type.dtype == DType::bf16 ? count : 0);
    };
    for (size_t i = 0; i < query.inputs.size(); ++i) add(query.inputs[i], choice.inputs[i], inputs_);
    for (size_t k = 0; k < query.outputs.size(); ++k) add(query.outputs[k], choice.outputs[k], outputs_);
  }

  void run(std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    std::vector<const void*> from(inputs.begin(), inputs.end());
    std::vector<void*> to(outputs.begin(), outputs.end());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs_[i].empty()) continue;
      const auto* halves = static_cast<const bf16*>(inputs[i]);
      std::copy(halves, halves + inputs_[i].size(), inputs_[i].begin());
      from[i] = inputs_[i].data();
    }
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (!outputs_[k].empty()) to[k] = outputs_[k].data();
    }
    wide_->run(from, to, scratch);
    for (size_t k = 0; k < outputs.size(); ++k) {
      auto* halves = static_cast<bf16*>(outputs[k]);
      std::transform(outputs_[k].begin(), outputs_[k].end(), halves, [](float number) { return bf16(number); });
    }
  }

 private:
  const std::unique_ptr<Kernel> wide_;
  std::vector<std::vector<float>> inputs_, outputs_;  // empty: not bf16
};

class MixingDevice final : public Device {
 public:
  MixingDevice(int threads, KernelSet kernels)
      : device_(make_cpu_device(all_ops(), threads, kernels)), catalog_(device_->catalog()) {}

  const KernelCatalog& catalog() const override { return catalog_; }
  std::shared_ptr<void> allocate(int64_t bytes) override { return device_->allocate(bytes); }
  void discard(void* begin, int64_t bytes) override { device_->discard(begin, bytes); }
  std::unique_ptr<Kernel> make_kernel(const KernelQuery& query, const KernelChoice& choice) override {
    if (!choice.kernel.starts_with(kMixing)) return device_->make_kernel(query, choice);
    KernelQuery given = query;
    given.like = choice;
    const KernelQuery wide = wide_query(given, device_->catalog());
    const KernelChoice own = device_->catalog().choose(wide);
    PARTITA_CHECK(own.accepted(), "no kernel {}: {}", choice.kernel, own.reason);
    return std::make_unique<MixingKernel>(device_->make_kernel(wide, own), query, choice, device_->catalog());
  }
  std::unique_ptr<Kernel> make_reorder(const Type& type, const MemoryFormat& from, const MemoryFormat& to) override {
    return device_->make_reorder(type, from, to);
  }
  std::unique_ptr<RowReader> make_row_reader(const Type& type, const MemoryFormat& from) override {
    return device_->make_row_reader(type, from);
  }
  void enter_thread() override { device_->enter_thread(); }
  void set_subnormals(SubnormalSetting setting) override { device_->set_subnormals(setting); }

 private:
  const std::unique_ptr<Device> device_;
  const MixingCatalog catalog_;
};

}  // namespace

std::unique_ptr<Device> make_mixing_device(int threads, KernelSet kernels) {
  return std::make_unique<MixingDevice>(threads, kernels);
}

}  // namespace partita

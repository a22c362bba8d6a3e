#include "device/cpu/loops/vectorize.h"

namespace partita {
namespace {

class Loop final : public Kernel {
 public:
  explicit Loop(std::function<void(const Operands&)> run) : run_(std::move(run)) {}
  void run(std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    run_({inputs, outputs, scratch});
  }

 private:
  std::function<void(const Operands&)> run_;
};

}  // namespace

std::unique_ptr<Kernel> make_loop(std::function<void(const Operands&)> run) {
  return std::make_unique<Loop>(std::move(run));
}

std::string float_refusal(const KernelQuery& query, size_t count) {
  const DType dtype = query.inputs[0].dtype;
  if (dtype != DType::f32 && dtype != DType::f64) return fmt::format("{} is not supported", name_of(dtype));
  for (size_t i = 1; i < count; ++i) {
    if (query.inputs[i].dtype != dtype) return fmt::format("{} is not supported", print(query.inputs));
  }
  return "";
}

KernelChoice accept_plain(const std::string& kernel, const KernelQuery& query) {
  return {.kernel = kernel,
          .inputs = std::vector<Layout>(query.inputs.size()),
          .outputs = std::vector<Layout>(query.outputs.size())};
}

Layout layout_for(const Layout& layout, const Type& type) {
  if (layout.plain()) return layout;
  return {layout.tag, padded_elements(type, layout) * static_cast<int64_t>(size_of(type.dtype))};
}

Layout meeting_layout(const KernelQuery& query, std::span<const size_t> operands, bool keeps_zero) {
  for (size_t operand : operands) {
    const Layout& layout = query.input_layouts[operand];
    if (layout.plain() || layout.any()) continue;
    const Type& type = query.inputs[operand];
    if (keeps_zero || padded_elements(type, layout) == type.elements()) return layout;
  }
  return {};
}

Layout channel_layout(const KernelQuery& query, size_t operand) {
  const Layout& layout = query.input_layouts[operand];
  return !layout.any() && channel_view(query.inputs[operand], layout) ? layout : Layout{};
}

}  // namespace partita

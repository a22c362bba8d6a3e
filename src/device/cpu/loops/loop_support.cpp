#include "device/cpu/loops/loop_support.h"

namespace partita {
namespace {

class Loop final : public Kernel {
 public:
  explicit Loop(LoopFn fn) : fn_(std::move(fn)) {}
  void run(std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    fn_(inputs, outputs, scratch);
  }

 private:
  LoopFn fn_;
};

}  // namespace

std::string unsupported_by_loops(const KernelQuery& query) {
  const Type& first = query.inputs.empty() ? query.outputs[0] : query.inputs[0];
  if (first.dtype == DType::f32 || first.dtype == DType::f64) return "";
  return fmt::format("{} is not supported", name_of(first.dtype));
}

KernelChoice propose_dense(std::string name, const KernelQuery& query, std::vector<std::pair<int, int>> in_place) {
  if (const std::string reason = unsupported_by_loops(query); !reason.empty()) return refuse(reason);
  return {.kernel = std::move(name),
          .inputs = std::vector<Layout>(query.inputs.size()),
          .outputs = std::vector<Layout>(query.outputs.size()),
          .in_place = std::move(in_place)};
}

Layout common_layout(const KernelQuery& query, size_t operands) {
  for (size_t i = 0; i < operands; ++i) {
    if (!query.input_layouts[i].plain() && !query.input_layouts[i].any()) return query.input_layouts[i];
  }
  return {};
}

int64_t stored_elements(const Type& type, const Layout& layout) {
  return layout.plain() ? type.elements() : layout.bytes / static_cast<int64_t>(size_of(type.dtype));
}

std::unique_ptr<Kernel> make_loop(LoopFn fn) { return std::make_unique<Loop>(std::move(fn)); }

}  // namespace partita

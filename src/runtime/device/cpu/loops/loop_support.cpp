#include "runtime/device/cpu/loops/loop_support.h"

#include <omp.h>

#include <algorithm>

#include "ir/ops/registry.h"
#include "runtime/device/cpu/reference.h"

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

bool all_finite(const double* numbers, int64_t count) {
  double zero = 0;
#pragma omp simd reduction(+ : zero)
  for (int64_t i = 0; i < count; ++i) zero += numbers[i] * 0;
  return zero == 0;
}

class UnlessInfinite final : public Kernel {
 public:
  UnlessInfinite(std::unique_ptr<Kernel> fast, const KernelQuery& query, std::vector<size_t> operands)
      : fast_(std::move(fast)),
        plain_(make_reference(all_ops().at(query.op), query)),
        types_(query.inputs),
        operands_(std::move(operands)) {}

  void run(std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    const bool finite = std::ranges::all_of(
        operands_, [&](size_t i) { return all_finite(static_cast<const double*>(inputs[i]), types_[i].elements()); });
    (finite ? fast_ : plain_)->run(inputs, outputs, scratch);
  }

 private:
  std::unique_ptr<Kernel> fast_, plain_;
  std::vector<Type> types_;
  std::vector<size_t> operands_;
};

}  // namespace

bool has_halves(const KernelQuery& query) {
  const auto half = [](const Type& type) { return is_half(type.dtype); };
  return std::ranges::any_of(query.inputs, half) || std::ranges::any_of(query.outputs, half);
}

int64_t ranges_of(int64_t rows) {
  constexpr int64_t kRowsOfRange = 16, kMaxRanges = 64;
  return std::clamp<int64_t>(rows / kRowsOfRange, 1, kMaxRanges);
}

int threads_within(int64_t own, int64_t scratch_bytes) {
  PARTITA_CHECK(own <= scratch_bytes, "{} bytes of scratch, {} were asked for", own, scratch_bytes);
  return own == 0 ? 1 : static_cast<int>(std::min<int64_t>(omp_get_max_threads(), scratch_bytes / own));
}

std::string unsupported_by_loops(const KernelQuery& query, const HalfValues& allowed) {
  if (!has_halves(query)) {
    const Type& first = query.inputs.empty() ? query.outputs[0] : query.inputs[0];
    if (first.dtype == DType::f32 || first.dtype == DType::f64) return "";
    return fmt::format("{} is not supported", name_of(first.dtype));
  }
  const auto unsupported = [](const std::vector<Type>& types, const std::vector<size_t>& halves,
                              const std::vector<size_t>& doubles) -> std::string {
    const auto has = [](const std::vector<size_t>& indices, size_t i) {
      return std::ranges::find(indices, i) != indices.end();
    };
    for (size_t i = 0; i < types.size(); ++i) {
      const DType dtype = types[i].dtype;
      const bool supported = !is_float(dtype) || dtype == DType::f32 || (is_half(dtype) && has(halves, i)) ||
                             (dtype == DType::f64 && has(doubles, i));
      if (!supported) return fmt::format("{} is not supported", name_of(dtype));
    }
    return "";
  };
  const std::string operands = unsupported(query.inputs, allowed.operands, allowed.f64_operands);
  return operands.empty() ? unsupported(query.outputs, allowed.results, allowed.f64_results) : operands;
}

KernelChoice propose_dense(std::string name, const KernelQuery& query, std::vector<std::pair<int, int>> in_place,
                           const HalfValues& halves) {
  if (const std::string reason = unsupported_by_loops(query, halves); !reason.empty()) return refuse(reason);
  std::erase_if(in_place, [&](const std::pair<int, int>& pair) {
    return query.inputs.at(static_cast<size_t>(pair.first)).dtype !=
           query.outputs.at(static_cast<size_t>(pair.second)).dtype;
  });
  return {.kernel = std::move(name),
          .inputs = std::vector<MemoryFormat>(query.inputs.size()),
          .outputs = std::vector<MemoryFormat>(query.outputs.size()),
          .in_place = std::move(in_place)};
}

size_t common_operand(const KernelQuery& query, size_t operands) {
  const auto open = [](const MemoryFormat& format) { return format.plain() || format.any(); };
  const auto end = query.input_formats.begin() + static_cast<std::ptrdiff_t>(operands);
  return static_cast<size_t>(std::find_if_not(query.input_formats.begin(), end, open) - query.input_formats.begin());
}

MemoryFormat common_format(const KernelQuery& query, size_t operands) {
  const size_t found = common_operand(query, operands);
  return found < operands ? query.input_formats[found] : MemoryFormat{};
}

int64_t stored_elements(const Type& type, const MemoryFormat& format) {
  return format.plain() ? type.elements() : format.bytes / static_cast<int64_t>(size_of(type.dtype));
}

MemoryFormat format_of_type(const MemoryFormat& format, const Type& of, const Type& type) {
  if (format.plain()) return format;
  return {format.tag, stored_elements(of, format) * static_cast<int64_t>(size_of(type.dtype))};
}

std::unique_ptr<Kernel> make_loop(LoopFn fn) { return std::make_unique<Loop>(std::move(fn)); }

std::unique_ptr<Kernel> unless_infinite(std::unique_ptr<Kernel> fast, const KernelQuery& query,
                                        std::vector<size_t> operands) {
  return std::make_unique<UnlessInfinite>(std::move(fast), query, std::move(operands));
}

}  // namespace partita

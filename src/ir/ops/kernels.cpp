#include "ir/ops/kernels.h"

#include "base/convert_elements.h"

namespace partita {

namespace {

void cast_elements(const ConstTensor& from, const Tensor& to) {
  convert_elements(from.type.dtype, from.data, to.type.dtype, to.data, to.type.elements());
}

}  // namespace

WidenedCall::WidenedCall(DType wide, Inputs in, Outputs out)
    : results_(out), inputs_(in.begin(), in.end()), outputs_(out.begin(), out.end()) {
  arrays_.reserve(in.size() + out.size());  // tensors point into them
  const auto widen = [&](auto& tensor) {
    if (!is_float(tensor.type.dtype) || holds_all_of(tensor.type.dtype, wide)) return false;
    tensor = arrays_.emplace_back(Type{wide, tensor.type.shape}).tensor();
    return true;
  };
  for (size_t i = 0; i < in.size(); ++i) {
    if (widen(inputs_[i])) cast_elements(in[i], arrays_.back().tensor());
  }
  for (Tensor& result : outputs_) widen(result);
}

void WidenedCall::round() const {
  for (size_t i = 0; i < results_.size(); ++i) {
    if (outputs_[i].data != results_[i].data) cast_elements(outputs_[i], results_[i]);
  }
}

DType computed_dtype(Inputs in, Outputs out) {
  for (const ConstTensor& operand : in) {
    if (is_float(operand.type.dtype)) return operand.type.dtype;
  }
  return in.empty() || is_float(out[0].type.dtype) ? out[0].type.dtype : in[0].type.dtype;
}

std::vector<int64_t> read_ids(const ConstTensor& ids) {
  std::vector<int64_t> read(static_cast<size_t>(ids.type.elements()));
  convert_elements(ids.type.dtype, ids.data, DType::i64, read.data(), ids.type.elements());
  return read;
}

void IdRule::require(int64_t id, int64_t at, int64_t limit) const {
  if (id >= 0 && id < limit) return;
  reject(op, fmt::format(fmt::runtime(what), at), fmt::format("{}", id), fmt::format("0 to {}", limit - 1),
         ErrorKind::index);
}

std::vector<int64_t> IdRule::read(const ConstTensor& ids, int64_t limit) const {
  std::vector<int64_t> read = read_ids(ids);
  for (size_t at = 0; at < read.size(); ++at) require(read[at], static_cast<int64_t>(at), limit);
  return read;
}

IdOperand IdRule::described(size_t operand, const std::function<std::optional<int64_t>(const OpCall&)>& limit) const {
  return {
      .operand = operand, .limit = limit, .require = [rule = *this, limit](const OpCall& call, int64_t id, int64_t at) {
        if (const auto below = limit(call)) rule.require(id, at, *below);
      }};
}

void copy_elements(const Shape& shape, const ConstTensor& from, const Visited& read, const Tensor& to,
                   const Visited& written) {
  for_element_size(from.type.dtype, [&](auto zero) {
    const auto* x = static_cast<const decltype(zero)*>(from.data) + read.first;
    auto* y = static_cast<decltype(zero)*>(to.data) + written.first;
    for_broadcast<2>(shape, {read.strides, written.strides},
                     [&](int64_t, const std::array<int64_t, 2>& at) { y[at[1]] = x[at[0]]; });
  });
}

void copy_elements(const ConstTensor& from, const Visited& read, const Tensor& to) {
  copy_elements(to.type.shape, from, read, to, {strides_of(to.type.shape)});
}

}  // namespace partita

#pragma once
// Makes reference kernels of loops over one element type. Loops over numbers are compiled for f64 and f32 alone: 16-bit
// floats are widened before them, and their results are rounded once after them. Loops that only move elements are
// compiled for each size of an element.

#include "ir/ops/support.h"

namespace partita {

using ReferenceKernel = std::function<void(const Attrs&, Inputs, Outputs)>;

/// The operands and results of a call, with those whose float type does not hold all of `wide` replaced by that type.
class WidenedCall {
 public:
  WidenedCall(DType wide, Inputs in, Outputs out);
  Inputs inputs() const { return inputs_; }
  Outputs outputs() const { return outputs_; }
  /// Rounds the results to the types of the call.
  void round() const;

 private:
  Outputs results_;
  std::vector<Array> arrays_;
  std::vector<ConstTensor> inputs_;
  std::vector<Tensor> outputs_;
};

/// Returns the element type of the first operand that is a float. If none is, returns that of the first result if it is
/// a float or there are no operands, else that of the first operand.
DType computed_dtype(Inputs in, Outputs out);

/// Calls fn<T>(attributes, operands, results); without the attributes if A is void.
template <class T, class A, class Fn>
void run_loops(const Fn& fn, const Attrs& attrs, Inputs in, Outputs out) {
  if constexpr (std::is_void_v<A>) {
    fn.template operator()<T>(in, out);
  } else {
    fn.template operator()<T>(attrs.template as<A>(), in, out);
  }
}

/// Returns the kernel of a loop over floats: `[]<class T>(const A& attrs, Inputs in, Outputs out) {...}`, without
/// `attrs` if A is void. T is `computed_dtype`, and `Half` for 16-bit floats, which is their type in the loop. It is
/// double for a loop that rounds a number of f64 to a result, as a number rounded twice may differ.
template <class Half, class A = void, class Fn>
ReferenceKernel float_kernel(const Fn& fn) {
  return [fn](const Attrs& attrs, Inputs in, Outputs out) {
    const DType dtype = computed_dtype(in, out);
    if (dtype == DType::f64) return run_loops<double, A>(fn, attrs, in, out);
    if (dtype == DType::f32) return run_loops<float, A>(fn, attrs, in, out);
    const WidenedCall wide(DTypeOf<Half>::value, in, out);
    run_loops<Half, A>(fn, attrs, wide.inputs(), wide.outputs());
    wide.round();
  };
}

/// Returns the kernel of a loop over numbers of any type: `float_kernel<float, A>` for floats, and T is the type of
/// others.
template <class A = void, class Fn>
ReferenceKernel number_kernel(const Fn& fn) {
  return [fn, floats = float_kernel<float, A>(fn)](const Attrs& attrs, Inputs in, Outputs out) {
    const DType dtype = computed_dtype(in, out);
    if (is_float(dtype)) return floats(attrs, in, out);
    for_integer(dtype, [&](auto zero) { run_loops<decltype(zero), A>(fn, attrs, in, out); });
  };
}

/// Returns the ids of an operand of integers.
std::vector<int64_t> read_ids(const ConstTensor& ids);

/// The check of an operand of ids, which are all from 0 to below a limit.
struct IdRule {
  std::string_view op, what;  // begin the message; "{}" in `what` stands for the place of the id

  /// Checks an id, element `at` of the operand. Throws InvalidArgument if it is out of range.
  void require(int64_t id, int64_t at, int64_t limit) const;
  /// Returns the ids of an operand. Throws InvalidArgument for the first one out of range.
  std::vector<int64_t> read(const ConstTensor& ids, int64_t limit) const;
  /// Returns the description of operand `operand` for OpTraits::ids.
  IdOperand described(size_t operand, const std::function<std::optional<int64_t>(const OpCall&)>& limit) const;
};

/// Calls `fn` with a zero of an unsigned type that is as large as an element. All bits of a zero are 0 in every type.
template <class Fn>
void for_element_size(DType dtype, Fn&& fn) {
  switch (size_of(dtype)) {
    case 1: return fn(uint8_t{});
    case 2: return fn(uint16_t{});
    case 4: return fn(uint32_t{});
    default: return fn(uint64_t{});
  }
}

/// The elements of a tensor that a loop over a shape visits: index `i` is element `first` + the sum of i[d] *
/// strides[d].
struct Visited {
  Shape strides;
  int64_t first = 0;
};
/// Copies the elements of `from` that are visited over a shape to those of `to`, which has the same element type.
void copy_elements(const Shape& shape, const ConstTensor& from, const Visited& read, const Tensor& to,
                   const Visited& written);
/// Copies the elements of `from` that are visited to all elements of `to`, in order.
void copy_elements(const ConstTensor& from, const Visited& read, const Tensor& to);

}  // namespace partita

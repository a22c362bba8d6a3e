// cross_entropy and its gradient: rows of logits in parallel, sums of a row in f64.

#include "ir/ops/loss/cross_entropy.h"

#include <cmath>

#include "base/vector_math.h"
#include "ir/ops/norm/softmax.h"
#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

constexpr auto kCrossEntropy = "loops.cross_entropy";

/// Checks labels before the parallel region, which no exception may leave. Throws InvalidArgument for a label outside
/// [0, classes).
template <class Label>
void require_labels(const std::string& op, const Label* labels, int64_t rows, int64_t classes) {
  for (int64_t row = 0; row < rows; ++row) require_label(op, labels[row], row, classes);
}

template <class T, class Label>
LoopFn bind_loss(const KernelQuery& query) {
  return [op = query.op, rows = rows_of(query.inputs[0].shape)](auto in, auto out, void*) {
    const T* logits = static_cast<const T*>(in[0]);
    const Label* labels = static_cast<const Label*>(in[1]);
    T *loss = static_cast<T*>(out[0]), *lse = static_cast<T*>(out[1]);
    require_labels(op, labels, rows.count, rows.size);
#pragma omp parallel for if (rows.count * rows.size > kSerialElements)
    for (int64_t row = 0; row < rows.count; ++row) {
      const T* x = logits + row * rows.size;
      T largest = x[0];
#pragma omp simd reduction(max : largest)
      for (int64_t z = 1; z < rows.size; ++z) largest = larger(x[z], largest);
      double sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t z = 0; z < rows.size; ++z) sum += static_cast<double>(exp_of(x[z] - largest));
      const double log_sum = std::log(sum), top = static_cast<double>(largest);
      loss[row] = static_cast<T>(log_sum - (static_cast<double>(x[labels[row]]) - top));
      lse[row] = static_cast<T>(log_sum + top);
    }
  };
}

template <class T, class Label>
LoopFn bind_grad_cross_entropy(const KernelQuery& query) {
  const auto& attrs = query.attrs.as<CrossEntropyGradAttrs>();
  return [op = query.op, classes = attrs.classes, begin = attrs.begin, rows = rows_of(query.inputs[0].shape)](
             auto in, auto out, void*) {
    const T *logits = static_cast<const T*>(in[0]), *lse = static_cast<const T*>(in[2]);
    const T* d_loss = static_cast<const T*>(in[3]);
    const Label* labels = static_cast<const Label*>(in[1]);
    T* d_logits = static_cast<T*>(out[0]);
    require_labels(op, labels, rows.count, classes);
#pragma omp parallel for if (rows.count * rows.size > kSerialElements)
    for (int64_t row = 0; row < rows.count; ++row) {
      const T* x = logits + row * rows.size;
      T* d_x = d_logits + row * rows.size;
      const T shift = lse[row], d = d_loss[row];
      const int64_t local_label = labels[row] - begin;  // outside the row if another rank has the label
      const bool holds = local_label >= 0 && local_label < rows.size;
      const T at_label = holds ? (exp_of(x[local_label] - shift) - 1) * d : T{0};  // before d_x may overwrite x
#pragma omp simd
      for (int64_t z = 0; z < rows.size; ++z) d_x[z] = exp_of(x[z] - shift) * d;
      if (holds) d_x[local_label] = at_label;
    }
  };
}

template <class T, class Label>
LoopFn bind_cross_entropy(const KernelQuery& query) {
  return query.op == "cross_entropy" ? bind_loss<T, Label>(query) : bind_grad_cross_entropy<T, Label>(query);
}

}  // namespace

std::vector<KernelDef> cross_entropy_kernels() {
  KernelDef def{.name = kCrossEntropy, .ops = {"cross_entropy", "cross_entropy_grad"}};
  def.propose = [](const KernelQuery& query) {
    KernelChoice choice = propose_dense(kCrossEntropy, query);
    if (query.op == "cross_entropy_grad") choice.in_place = {{0, 0}};
    return choice;
  };
  def.make = [](const KernelQuery& query, const KernelChoice&) {
    LoopFn loop;
    for_loop_type(query.inputs[0].dtype, [&](auto zero) {
      using T = decltype(zero);
      loop = query.inputs[1].dtype == DType::i32 ? bind_cross_entropy<T, int32_t>(query)
                                                 : bind_cross_entropy<T, int64_t>(query);
    });
    return make_loop(std::move(loop));
  };
  return {def};
}

}  // namespace partita

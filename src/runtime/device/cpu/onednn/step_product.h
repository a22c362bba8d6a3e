#pragma once
// Products of the rows of each step of a recurrent layer with the same weights, which are packed once for all steps.

#include "ir/ops/recurrent/steps.h"
#include "runtime/device/cpu/onednn/engine.h"

namespace partita {

class StepProduct {
 public:
  using ProductDesc = dnnl::matmul::primitive_desc;

  /// Describes h w^T: the rows of states times the weights of all gates; added to the results if `add`. Throws
  /// dnnl::error if there is no such primitive.
  static ProductDesc forward(const RecurrentSizes& sizes, bool add) {
    return describe(sizes.rows, sizes.gate_row(), sizes.inner, add);
  }
  /// Describes d w: the rows of gradients of all gates times the weights.
  static ProductDesc backward(const RecurrentSizes& sizes, bool add) {
    return describe(sizes.rows, sizes.inner, sizes.gate_row(), add);
  }
  static int64_t scratch_bytes(const ProductDesc& pd);

  /// `scratch_bytes`: at least those of `pd`.
  StepProduct(const RecurrentSizes& sizes, const ProductDesc& pd, bool is_forward, int64_t scratch_bytes);
  /// Packs weights [gates, size, inner] into `scratch`, from where products take them.
  void pack(const float* weights, void* scratch) const;
  /// Computes, or adds, the product of rows and the packed weights.
  void run(const float* x, float* y, void* scratch) const;

 private:
  static ProductDesc describe(int64_t rows, int64_t columns, int64_t inner, bool add);

  int64_t packed_;  // bytes of the weights
  std::unique_ptr<Kernel> pack_, product_;
};

}  // namespace partita

// Orthogonalization of f32 matrices by products of oneDNN.

#include "ir/ops/matmul/orthogonalize.h"

#include "runtime/device/cpu/onednn/engine.h"

namespace partita {
namespace {

constexpr auto kOrthogonalizeOnednn = "onednn.orthogonalize";

/// A matrix of f32, row-major or transposed.
Desc f32_matrix(int64_t rows, int64_t columns, bool transposed = false) {
  const auto strides = transposed ? dnnl::memory::dims{1, rows} : dnnl::memory::dims{columns, 1};
  return Desc({rows, columns}, dnnl::memory::data_type::f32, strides);
}

using ProductDesc = dnnl::matmul::primitive_desc;

/// The products of a step: of the matrix and its transpose, of the Gram matrix and itself, of that and the matrix.
struct StepProducts {
  ProductDesc gram, power, matrix;

  explicit StepProducts(const MatrixSizes& sizes)
      : gram(gram_of(sizes)),
        power(describe<dnnl::matmul>(square(sizes), square(sizes), square(sizes))),
        matrix(sizes.rows <= sizes.columns ? describe<dnnl::matmul>(square(sizes), plain(sizes), plain(sizes))
                                           : describe<dnnl::matmul>(plain(sizes), square(sizes), plain(sizes))) {}

  static Desc plain(const MatrixSizes& sizes) { return f32_matrix(sizes.rows, sizes.columns); }
  static Desc square(const MatrixSizes& sizes) { return f32_matrix(sizes.shorter(), sizes.shorter()); }
  static ProductDesc gram_of(const MatrixSizes& sizes) {
    const Desc turned = f32_matrix(sizes.columns, sizes.rows, /*transposed=*/true);
    return sizes.rows <= sizes.columns ? describe<dnnl::matmul>(plain(sizes), turned, square(sizes))
                                       : describe<dnnl::matmul>(turned, plain(sizes), square(sizes));
  }
  int64_t scratch_bytes() const {
    return std::max({scratchpad_bytes(gram), scratchpad_bytes(power), scratchpad_bytes(matrix)});
  }
};

/// Elements of the scratch memory of one matrix: two Gram matrices and a product like the operand.
struct FloatRoom {
  int64_t gram, matrix;

  explicit FloatRoom(const MatrixSizes& sizes)
      : gram(rounded(sizes.shorter() * sizes.shorter())), matrix(rounded(sizes.elements())) {}
  static int64_t rounded(int64_t elements) { return (elements + 15) / 16 * 16; }
  int64_t bytes() const { return (2 * gram + matrix) * static_cast<int64_t>(sizeof(float)); }
};

class OrthogonalizeKernel : public Kernel {
 public:
  OrthogonalizeKernel(const OrthogonalizeAttrs& attrs, const MatrixSizes& sizes, int64_t scratch_bytes)
      : attrs_(attrs), sizes_(sizes), room_(sizes) {
    const StepProducts products(sizes);
    const int64_t limit = scratch_bytes - room_.bytes();
    gram_ = product(products.gram, limit);
    power_ = product(products.power, limit);
    matrix_ = product(products.matrix, limit);
  }

  void run(std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    for (int64_t i = 0; i < sizes_.batch; ++i) {
      const int64_t first = i * sizes_.elements();
      run_one(static_cast<const float*>(inputs[0]) + first, static_cast<float*>(outputs[0]) + first, scratch);
    }
  }

 private:
  static std::unique_ptr<Kernel> product(const ProductDesc& pd, int64_t limit) {
    return std::make_unique<PrimitiveKernel>(dnnl::matmul(pd),
                                             with_scratchpad(pd,
                                                             {{DNNL_ARG_SRC, pd.src_desc(), Argument::input, 0},
                                                              {DNNL_ARG_WEIGHTS, pd.weights_desc(), Argument::input, 1},
                                                              {DNNL_ARG_DST, pd.dst_desc(), Argument::output, 0}},
                                                             limit));
  }
  static void multiply(Kernel& kernel, const float* a, const float* b, float* y, void* scratch) {
    const void* in[] = {a, b};
    void* out[] = {y};
    kernel.run(in, out, scratch);
  }

  void run_one(const float* x, float* y, void* scratch) const {
    using N = NewtonSchulz;
    auto* gram = static_cast<float*>(scratch);
    float *power = gram + room_.gram, *product = power + room_.gram;
    void* own = static_cast<char*>(scratch) + room_.bytes();
    const int64_t count = sizes_.elements(), square = sizes_.shorter() * sizes_.shorter();
    const bool is_wide = sizes_.rows <= sizes_.columns;
    const double inverse = inverse_norm(x, count, attrs_.epsilon);
    for (int64_t i = 0; i < count; ++i) y[i] = static_cast<float>(x[i] * inverse);
    const auto linear = static_cast<float>(N::kLinear), cubic = static_cast<float>(N::kCubic);
    const auto quintic = static_cast<float>(N::kQuintic);
    for (int64_t step = 0; step < attrs_.steps; ++step) {
      multiply(*gram_, y, y, gram, own);
      multiply(*power_, gram, gram, power, own);
      for (int64_t i = 0; i < square; ++i) power[i] = quintic * power[i] + cubic * gram[i];
      multiply(*matrix_, is_wide ? power : y, is_wide ? y : power, product, own);
      for (int64_t i = 0; i < count; ++i) y[i] = linear * y[i] + product[i];
    }
  }

  const OrthogonalizeAttrs attrs_;
  const MatrixSizes sizes_;
  const FloatRoom room_;
  std::unique_ptr<Kernel> gram_, power_, matrix_;
};

KernelChoice propose_orthogonalize(const KernelQuery& query) {
  if (std::string reason = unsupported_by_onednn(query); !reason.empty()) return refuse(reason);
  const MatrixSizes sizes(query.inputs[0].shape, query.attrs.as<OrthogonalizeAttrs>().batch);
  KernelChoice choice;
  try {
    choice.scratch_bytes = FloatRoom(sizes).bytes() + StepProducts(sizes).scratch_bytes();
  } catch (const dnnl::error& error) {
    return refuse(no_such("product", error));
  }
  choice.kernel = kOrthogonalizeOnednn;
  choice.inputs = {MemoryFormat{}};
  choice.outputs = {MemoryFormat{}};
  return choice;
}

std::unique_ptr<Kernel> make_orthogonalize(const KernelQuery& query, const KernelChoice& choice) {
  const auto& attrs = query.attrs.as<OrthogonalizeAttrs>();
  return std::make_unique<OrthogonalizeKernel>(attrs, MatrixSizes(query.inputs[0].shape, attrs.batch),
                                               choice.scratch_bytes);
}

}  // namespace

std::vector<KernelDef> orthogonalize_kernels() {
  return {{kOrthogonalizeOnednn, {"orthogonalize"}, propose_orthogonalize, make_orthogonalize}};
}

}  // namespace partita

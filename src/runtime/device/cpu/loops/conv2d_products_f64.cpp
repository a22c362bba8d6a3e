// Convolutions of f64 images and their gradients, as products of filters and image patches.

#include "runtime/device/cpu/loops/convolution_sizes.h"
#include "runtime/device/cpu/loops/gemm.h"
#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

constexpr auto kConv2dProductsF64 = "loops.conv2d_products";

/// y = filters x patches of x.
struct Forward {
  gemm::Matrix filters;
  Patches x;
  double* y;  // the first channel of the group
  int64_t image_stride;

  void pack_rows(int64_t first, int64_t count, int64_t begin, int64_t size, double* to) const {
    filters.pack_rows(first, count, begin, size, to);
  }
  void pack_columns(int64_t first, int64_t count, int64_t begin, int64_t size, double* to) const {
    x.pack_columns(first, count, begin, size, to);
  }
  void store(int64_t row, int64_t rows, int64_t column, int64_t columns, const gemm::Sums& sums) const {
    const int64_t plane = x.places();
    for (int64_t c = 0; c < columns; ++c) {
      double* to = y + (column + c) / plane * image_stride + row * plane + (column + c) % plane;
      for (int64_t r = 0; r < rows; ++r) to[r * plane] = sums[r][c];
    }
  }
};

/// d_weight = d_y x patches of x, over the positions in all images.
struct GradFilter {
  Patches d_y, x;
  double* d_weight;  // the first filter of the group
  int64_t filter_size;

  void pack_rows(int64_t first, int64_t count, int64_t begin, int64_t size, double* to) const {
    d_y.pack_rows(first, count, begin, size, to);
  }
  void pack_columns(int64_t first, int64_t count, int64_t begin, int64_t size, double* to) const {
    x.pack_columns_transposed(first, count, begin, size, to);
  }
  void store(int64_t row, int64_t rows, int64_t column, int64_t columns, const gemm::Sums& sums) const {
    for (int64_t r = 0; r < rows; ++r) std::copy_n(sums[r], columns, d_weight + (row + r) * filter_size + column);
  }
};

/// d_x = transposed filters x patches of d_y, for the elements of one residue.
struct Conv2dProductsF64GradInput {
  const double* filters;  // the first filter of the group
  int64_t filter_size, filter_taps;
  const Residue* residue;
  Patches d_y;
  double* d_x;  // the first channel of the group
  int64_t image_stride, width, plane, row_step, column_step;

  void pack_rows(int64_t first, int64_t count, int64_t begin, int64_t size, double* to) const {
    const auto tap_count = static_cast<int64_t>(residue->taps.size());
    for (int64_t k = 0; k < size; ++k, to += gemm::kRows) {
      const int64_t filter = (begin + k) / tap_count, tap = residue->taps[(begin + k) % tap_count];
      const double* from = filters + filter * filter_size + first * filter_taps + tap;
      for (int64_t r = 0; r < count; ++r) to[r] = from[r * filter_taps];
    }
  }
  void pack_columns(int64_t first, int64_t count, int64_t begin, int64_t size, double* to) const {
    d_y.pack_columns(first, count, begin, size, to);
  }
  void store(int64_t row, int64_t rows, int64_t column, int64_t columns, const gemm::Sums& sums) const {
    for (int64_t c = 0; c < columns; ++c) {
      const int64_t image = (column + c) / d_y.places(), place = (column + c) % d_y.places();
      const int64_t y = residue->row + place / d_y.columns * row_step;
      const int64_t x = residue->column + place % d_y.columns * column_step;
      double* to = d_x + image * image_stride + row * plane + y * width + x;
      for (int64_t r = 0; r < rows; ++r) to[r * plane] = sums[r][c];
    }
  }
};

/// Returns the sizes of the product that computes an op; for the gradient of x, an upper bound on those of each
/// residue.
gemm::Sizes sizes_of(const std::string& op, const ConvolutionSizes& conv, int threads) {
  const int64_t places = conv.images() * conv.plane_y(), inner = conv.channels() * conv.taps();
  if (op == "conv2d") return gemm::tiled(conv.groups, conv.filters(), places, inner, threads);
  if (op == "conv2d_grad_filter") return gemm::tiled(conv.groups, conv.filters(), inner, places, threads);
  return gemm::tiled(conv.groups, conv.channels(), conv.images() * conv.plane_x(), conv.filters() * conv.taps(),
                     threads);
}

LoopFn bind_forward_conv2d_products_f64(const ConvolutionSizes& conv, int threads) {
  const gemm::Sizes sizes = sizes_of("conv2d", conv, threads);
  return [=, patches = conv.patches()](auto in, auto out, void* scratch) {
    const int64_t inner = conv.channels() * conv.taps();
    gemm::multiply(sizes, threads, scratch, [&](int64_t group) {
      Forward forward{{static_cast<const double*>(in[1]) + group * conv.filters() * inner, inner, 1},
                      patches,
                      static_cast<double*>(out[0]) + group * conv.filters() * conv.plane_y(),
                      conv.image_y()};
      forward.x.data = static_cast<const double*>(in[0]) + group * conv.channels() * conv.plane_x();
      return forward;
    });
  };
}

LoopFn bind_grad_filter_conv2d_products_f64(const ConvolutionSizes& conv, int threads) {
  const gemm::Sizes sizes = sizes_of("conv2d_grad_filter", conv, threads);
  const Patches d_y{
      .image_stride = conv.image_y(), .height = conv.y[2], .width = conv.y[3], .rows = conv.y[2], .columns = conv.y[3]};
  return [=, patches = conv.patches()](auto in, auto out, void* scratch) {
    const int64_t inner = conv.channels() * conv.taps();
    gemm::multiply(sizes, threads, scratch, [&](int64_t group) {
      GradFilter grad{d_y, patches, static_cast<double*>(out[0]) + group * conv.filters() * inner, inner};
      grad.d_y.data = static_cast<const double*>(in[1]) + group * conv.filters() * conv.plane_y();
      grad.x.data = static_cast<const double*>(in[0]) + group * conv.channels() * conv.plane_x();
      return grad;
    });
  };
}

LoopFn bind_grad_input(const ConvolutionSizes& conv, int threads) {
  return [=, residues = residues_of(conv)](auto in, auto out, void* scratch) {
    for (const Residue& residue : residues) {
      const auto taps = static_cast<int64_t>(residue.taps.size());
      const gemm::Sizes sizes = gemm::tiled(conv.groups, conv.channels(), conv.images() * residue.d_y.places(),
                                            conv.filters() * taps, threads);
      gemm::multiply(sizes, threads, scratch, [&](int64_t group) {
        const int64_t filter_size = conv.channels() * conv.taps();
        Conv2dProductsF64GradInput grad{
            .filters = static_cast<const double*>(in[1]) + group * conv.filters() * filter_size,
            .filter_size = filter_size,
            .filter_taps = conv.taps(),
            .residue = &residue,
            .d_y = residue.d_y,
            .d_x = static_cast<double*>(out[0]) + group * conv.channels() * conv.plane_x(),
            .image_stride = conv.image_x(),
            .width = conv.x[3],
            .plane = conv.plane_x(),
            .row_step = conv.spans.h.stride,
            .column_step = conv.spans.w.stride};
        grad.d_y.data = static_cast<const double*>(in[0]) + group * conv.filters() * conv.plane_y();
        return grad;
      });
    }
  };
}

LoopFn bind_conv2d_products_f64(const std::string& op, const ConvolutionSizes& conv, int threads) {
  if (op == "conv2d") return bind_forward_conv2d_products_f64(conv, threads);
  return op == "conv2d_grad_filter" ? bind_grad_filter_conv2d_products_f64(conv, threads)
                                    : bind_grad_input(conv, threads);
}

bool reaches_outside(const std::string& op, const ConvolutionSizes& conv) {
  if (op != "conv2d_grad_input") return conv.patches().reaches_outside();
  const std::vector<Residue> residues = residues_of(conv);
  return std::ranges::any_of(residues, [](const Residue& r) { return r.d_y.reaches_outside(); });
}

KernelChoice propose_conv2d_products_f64(const KernelQuery& query) {
  if (query.inputs[0].dtype != DType::f64) return refuse("only f64");
  KernelChoice choice = propose_dense(kConv2dProductsF64, query);
  choice.scratch_bytes = omp_get_max_threads() * sizes_of(query.op, convolution_sizes(query), 1).scratch_bytes();
  return choice;
}

std::unique_ptr<Kernel> make_conv2d_products_f64(const KernelQuery& query, const KernelChoice& choice) {
  const ConvolutionSizes conv = convolution_sizes(query);
  const int threads = threads_within(sizes_of(query.op, conv, 1).scratch_bytes(), choice.scratch_bytes);
  std::unique_ptr<Kernel> fast = make_loop(bind_conv2d_products_f64(query.op, conv, threads));
  if (!reaches_outside(query.op, conv)) return fast;
  return unless_infinite(std::move(fast), query, {1});  // zeros in patches are multiplied by the second operand
}

}  // namespace

std::vector<KernelDef> conv2d_products_f64_kernels() {
  return {{kConv2dProductsF64,
           {"conv2d", "conv2d_grad_input", "conv2d_grad_filter"},
           propose_conv2d_products_f64,
           make_conv2d_products_f64}};
}

}  // namespace partita

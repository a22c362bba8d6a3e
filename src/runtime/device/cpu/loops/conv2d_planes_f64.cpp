// Convolutions of f64 images with few filters per group, and their gradients: one zero-padded plane after another,
// along its rows.

#include <omp.h>

#include "runtime/device/cpu/loops/convolution_sizes.h"
#include "runtime/device/cpu/loops/loop_support.h"
#include "runtime/device/cpu/loops/plane_lines.h"

namespace partita {
namespace {

constexpr auto kConv2dPlanesF64 = "loops.conv2d_planes";
constexpr int64_t kMaxPlanes = 12;  // per copied plane: with more, packing for a product pays

/// Scratch memory of a thread: a copied plane; the sums, or sums per tap, of all planes computed from it; a plane of
/// positions or weights.
struct Scratch {
  double *lines, *sums, *other;
};

class Planes {
 public:
  Planes(Patches patches, int64_t made, bool per_tap)
      : lines_(std::move(patches)),
        sums_size_(per_tap ? lines_.tap_sums_size() : lines_.places_size()),
        other_size_(per_tap ? lines_.places_size() : lines_.tap_sums_size()),
        made_(made) {}

  const PlaneLines& lines() const { return lines_; }
  int64_t sums_size() const { return sums_size_; }
  void clear(const Scratch& scratch) const { std::fill_n(scratch.sums, made_ * sums_size_, 0.0); }

  int64_t scratch_bytes() const {
    return (lines_.lines_size() + made_ * sums_size_ + other_size_) * static_cast<int64_t>(sizeof(double));
  }
  Scratch part_of(void* scratch, int64_t thread) const {
    double* lines = static_cast<double*>(scratch) + thread * scratch_bytes() / static_cast<int64_t>(sizeof(double));
    return {lines, lines + lines_.lines_size(), lines + lines_.lines_size() + made_ * sums_size_};
  }

 private:
  PlaneLines lines_;
  int64_t sums_size_, other_size_, made_;
};

/// Calls fn(i, scratch of the thread) for all i below `count`, in parallel.
template <class Fn>
void for_tasks(int64_t count, int threads, const Planes& planes, void* scratch, const Fn& fn) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t i = 0; i < count; ++i) fn(i, planes.part_of(scratch, omp_get_thread_num()));
}

LoopFn bind_forward_conv2d_planes_f64(const ConvolutionSizes& conv, int threads) {
  return [=, planes = Planes(conv.patches(), conv.filters(), false)](auto in, auto out, void* scratch) {
    for_tasks(conv.images() * conv.groups, threads, planes, scratch, [&](int64_t i, const Scratch& own) {
      const int64_t image = i / conv.groups, group = i % conv.groups;
      const double* x = static_cast<const double*>(in[0]) + image * conv.image_x();
      const double* weight = static_cast<const double*>(in[1]);
      double* y = static_cast<double*>(out[0]) + image * conv.image_y();
      planes.clear(own);
      for (int64_t c = 0; c < conv.channels(); ++c) {
        planes.lines().load(x + (group * conv.channels() + c) * conv.plane_x(), own.lines);
        for (int64_t o = 0; o < conv.filters(); ++o) {
          const int64_t filter = group * conv.filters() + o;
          planes.lines().add_correlation(own.lines, weight + (filter * conv.channels() + c) * conv.taps(),
                                         own.sums + o * planes.sums_size());
        }
      }
      for (int64_t o = 0; o < conv.filters(); ++o) {
        for (int64_t row = 0; row < conv.y[2]; ++row) {
          std::copy_n(own.sums + o * planes.sums_size() + row * planes.lines().row_size(), conv.y[3],
                      y + (group * conv.filters() + o) * conv.plane_y() + row * conv.y[3]);
        }
      }
    });
  };
}

/// The gradient of x, one residue after another.
class Conv2dPlanesF64GradInput {
 public:
  Conv2dPlanesF64GradInput(const ConvolutionSizes& conv, int threads)
      : conv_(conv), threads_(threads), residues_(residues_of(conv)) {
    for (const Residue& residue : residues_) planes_.emplace_back(residue.d_y, conv.channels(), false);
  }

  int64_t scratch_bytes() const {
    int64_t most = 0;
    for (const Planes& planes : planes_) most = std::max(most, planes.scratch_bytes());
    return most;
  }

  void operator()(std::span<const void* const> in, std::span<void* const> out, void* scratch) const {
    for (size_t r = 0; r < residues_.size(); ++r) {
      for_tasks(conv_.images() * conv_.groups, threads_, planes_[r], scratch, [&](int64_t i, const Scratch& own) {
        const int64_t image = i / conv_.groups, group = i % conv_.groups;
        differentiate(residues_[r], planes_[r], group, static_cast<const double*>(in[0]) + image * conv_.image_y(),
                      static_cast<const double*>(in[1]), own);
        store(residues_[r], planes_[r], group, own, static_cast<double*>(out[0]) + image * conv_.image_x());
      });
    }
  }

 private:
  void differentiate(const Residue& residue, const Planes& planes, int64_t group, const double* d_y,
                     const double* weight, const Scratch& own) const {
    planes.clear(own);
    for (int64_t o = 0; o < conv_.filters(); ++o) {
      const int64_t filter = group * conv_.filters() + o;
      planes.lines().load(d_y + filter * conv_.plane_y(), own.lines);
      for (int64_t c = 0; c < conv_.channels(); ++c) {
        const double* taps = weight + (filter * conv_.channels() + c) * conv_.taps();
        for (size_t t = 0; t < residue.taps.size(); ++t) own.other[t] = taps[residue.taps[t]];
        planes.lines().add_correlation(own.lines, own.other, own.sums + c * planes.sums_size());
      }
    }
  }

  void store(const Residue& residue, const Planes& planes, int64_t group, const Scratch& own, double* d_x) const {
    const auto& [h, w] = conv_.spans;
    for (int64_t c = 0; c < conv_.channels(); ++c) {
      double* plane = d_x + (group * conv_.channels() + c) * conv_.plane_x();
      for (int64_t row = 0; row < residue.d_y.rows; ++row) {
        const double* from = own.sums + c * planes.sums_size() + row * planes.lines().row_size();
        double* to = plane + (residue.row + row * h.stride) * conv_.x[3] + residue.column;
        for (int64_t column = 0; column < residue.d_y.columns; ++column) to[column * w.stride] = from[column];
      }
    }
  }

  ConvolutionSizes conv_;
  int threads_;
  std::vector<Residue> residues_;
  std::vector<Planes> planes_;
};

LoopFn bind_grad_filter_conv2d_planes_f64(const ConvolutionSizes& conv, int threads) {
  return [=, planes = Planes(conv.patches(), conv.filters(), true)](auto in, auto out, void* scratch) {
    for_tasks(conv.x[1], threads, planes, scratch, [&](int64_t channel, const Scratch& own) {
      const int64_t group = channel / conv.channels(), c = channel % conv.channels();
      const double *x = static_cast<const double*>(in[0]), *d_y = static_cast<const double*>(in[1]);
      const int64_t row_size = planes.lines().row_size();
      planes.clear(own);
      std::fill_n(own.other, planes.lines().places_size(), 0.0);
      for (int64_t image = 0; image < conv.images(); ++image) {
        planes.lines().load(x + image * conv.image_x() + channel * conv.plane_x(), own.lines);
        for (int64_t o = 0; o < conv.filters(); ++o) {
          const double* from = d_y + image * conv.image_y() + (group * conv.filters() + o) * conv.plane_y();
          for (int64_t row = 0; row < conv.y[2]; ++row) {
            std::copy_n(from + row * conv.y[3], conv.y[3], own.other + row * row_size);
          }
          planes.lines().add_products(own.lines, own.other, own.sums + o * planes.sums_size());
        }
      }
      for (int64_t o = 0; o < conv.filters(); ++o) {
        const int64_t filter = group * conv.filters() + o;
        double* d_weight = static_cast<double*>(out[0]) + (filter * conv.channels() + c) * conv.taps();
        for (int64_t t = 0; t < conv.taps(); ++t) {
          d_weight[t] = PlaneLines::total(own.sums + o * planes.sums_size(), t);
        }
      }
    });
  };
}

/// Number of planes computed from each copied one: channels per group for the gradient of x, else filters per group.
int64_t made_planes(const std::string& op, const ConvolutionSizes& conv) {
  return op == "conv2d_grad_input" ? conv.channels() : conv.filters();
}

int64_t scratch_bytes(const std::string& op, const ConvolutionSizes& conv) {
  if (op == "conv2d_grad_input") return Conv2dPlanesF64GradInput(conv, 1).scratch_bytes();
  return Planes(conv.patches(), conv.filters(), op == "conv2d_grad_filter").scratch_bytes();
}

KernelChoice propose_conv2d_planes_f64(const KernelQuery& query) {
  if (query.inputs[0].dtype != DType::f64) return refuse("only f64");
  const ConvolutionSizes conv = convolution_sizes(query);
  if (const int64_t made = made_planes(query.op, conv); made > kMaxPlanes) {
    return refuse(fmt::format("{} planes from each one", made));
  }
  KernelChoice choice = propose_dense(kConv2dPlanesF64, query);
  choice.scratch_bytes = omp_get_max_threads() * scratch_bytes(query.op, conv);
  return choice;
}

std::unique_ptr<Kernel> make_conv2d_planes_f64(const KernelQuery& query, const KernelChoice& choice) {
  const ConvolutionSizes conv = convolution_sizes(query);
  const int threads = threads_within(scratch_bytes(query.op, conv), choice.scratch_bytes);
  LoopFn loop = query.op == "conv2d"               ? bind_forward_conv2d_planes_f64(conv, threads)
                : query.op == "conv2d_grad_filter" ? bind_grad_filter_conv2d_planes_f64(conv, threads)
                                                   : LoopFn(Conv2dPlanesF64GradInput(conv, threads));
  // Zeros around a plane are multiplied by weights; in the gradient of filters, zeros after each row also by x.
  return unless_infinite(make_loop(std::move(loop)), query,
                         query.op == "conv2d_grad_filter" ? std::vector<size_t>{0, 1} : std::vector<size_t>{1});
}

}  // namespace

std::vector<KernelDef> conv2d_planes_f64_kernels() {
  return {{kConv2dPlanesF64,
           {"conv2d", "conv2d_grad_input", "conv2d_grad_filter"},
           propose_conv2d_planes_f64,
           make_conv2d_planes_f64}};
}

}  // namespace partita

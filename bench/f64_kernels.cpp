// The f64 kernels of products and convolutions against the reference, on shapes of ResNet-18 (24 images of 32x32) and
// of a GPT.
//
//   bench_f64_kernels [THREADS=2] [REPEATS=3]
//
// Prints the smallest times in milliseconds, their ratio, and the speed.

#include <algorithm>
#include <chrono>
#include <string>

#include "ir/ops/attention/attention.h"
#include "ir/ops/conv/conv2d.h"
#include "ir/ops/matmul/matmul.h"
#include "ir/ops/registry.h"
#include "runtime/device/device.h"
#include "usage.h"

namespace partita {
namespace {

struct Example {
  std::string op;
  Attrs attrs;
  std::vector<Shape> inputs;
  double gflop;
};

/// A convolution and its two gradients.
void add_convolution(std::vector<Example>& all, const Shape& x, const Shape& weight, int64_t stride, int64_t pad,
                     int64_t groups) {
  const std::vector<int64_t> strides{stride, stride}, dilation{1, 1}, pads{pad, pad, pad, pad};
  const Conv2dAttrs attrs{strides, dilation, pads, groups};
  const Attrs forward(attrs);
  const std::vector<Type> types{{DType::f64, x}, {DType::f64, weight}}, none;
  const Shape y = all_ops().at("conv2d").infer({forward, types, none})[0].shape;
  const double gflop = 2e-9 * static_cast<double>(elements(y) * weight[1] * weight[2] * weight[3]);
  all.push_back({"conv2d", forward, {x, weight}, gflop});
  all.push_back({"conv2d_grad_input", Conv2dGradInputAttrs{attrs, {x[2], x[3]}}, {y, weight}, gflop});
  all.push_back({"conv2d_grad_filter", Conv2dGradFilterAttrs{attrs, {weight[2], weight[3]}}, {x, y}, gflop});
}

void add_attention(std::vector<Example>& all, int64_t batch, int64_t sequence, int64_t heads, int64_t width) {
  const Shape row{batch, sequence, heads * width}, lse{batch, heads, sequence};
  const Attrs attrs(AttentionAttrs{.heads = heads, .causal = true});
  const double product = 1e-9 * static_cast<double>(batch * heads * sequence * sequence * width);  // seen keys only
  all.push_back({"attention", attrs, {row, row, row}, 2 * product});
  all.push_back({"attention_grad", attrs, {row, row, row, row, lse, row}, 5 * product});
}

std::vector<Example> examples() {
  std::vector<Example> all;
  add_convolution(all, {24, 3, 32, 32}, {64, 3, 7, 7}, 2, 3, 1);
  add_convolution(all, {24, 64, 32, 32}, {64, 64, 3, 3}, 1, 1, 1);
  add_convolution(all, {24, 128, 16, 16}, {128, 128, 3, 3}, 1, 1, 1);
  add_convolution(all, {24, 256, 16, 16}, {512, 256, 3, 3}, 2, 1, 1);
  add_convolution(all, {24, 256, 16, 16}, {512, 256, 1, 1}, 2, 0, 1);
  add_convolution(all, {24, 512, 4, 4}, {512, 512, 3, 3}, 1, 1, 1);
  add_convolution(all, {24, 128, 16, 16}, {128, 4, 3, 3}, 1, 1, 32);
  add_convolution(all, {24, 128, 16, 16}, {128, 1, 3, 3}, 1, 1, 128);
  const auto matmul = [&](const Shape& a, const Shape& b, bool ta, bool tb, double gflop) {
    all.push_back({"matmul", Attrs(MatmulAttrs{ta, tb}), {a, b}, gflop});
  };
  matmul({1024, 384}, {384, 1536}, false, false, 1.208);
  matmul({1024, 1536}, {384, 1536}, false, true, 1.208);
  matmul({1024, 384}, {1024, 1536}, true, false, 1.208);
  matmul({48, 256, 64}, {48, 256, 64}, false, true, 0.403);
  add_attention(all, 8, 256, 6, 64);
  return all;
}

/// Milliseconds of the fastest of some runs.
double time_of(const Example& example, KernelSet kernels, int threads, int repeats) {
  const auto device = make_cpu_device(all_ops(), threads, kernels);
  device->enter_thread();
  KernelQuery query{.op = example.op, .attrs = example.attrs};
  std::vector<Array> inputs, outputs;
  for (const Shape& shape : example.inputs) {
    query.inputs.push_back({DType::f64, shape});
    inputs.emplace_back(query.inputs.back());
    double* values = inputs.back().as<double>();
    for (int64_t i = 0; i < inputs.back().type().elements(); ++i) values[i] = static_cast<double>(i % 17) / 17 - 0.5;
  }
  query.input_formats.resize(inputs.size());
  const std::vector<Type> none;
  query.outputs = all_ops().at(example.op).infer({query.attrs, query.inputs, none});
  for (const Type& type : query.outputs) outputs.emplace_back(type);
  const KernelChoice choice = device->catalog().choose(query);
  const auto kernel = device->make_kernel(query, choice);
  const auto scratch = device->allocate(choice.scratch_bytes);
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const Array& array : inputs) in.push_back(array.data());
  for (Array& array : outputs) out.push_back(array.data());
  double best = 1e300;
  for (int i = 0; i < repeats; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    kernel->run(in, out, scratch.get());
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

void measure(int threads, int repeats) {
  for (const Example& example : examples()) {
    const double slow = time_of(example, KernelSet::reference, threads, repeats);
    const double fast = time_of(example, KernelSet::fast, threads, 3 * repeats);
    std::string shapes;
    for (const Shape& shape : example.inputs) shapes += print(shape);
    fmt::print("{:18} {:60} reference {:9.2f} ms, fast {:8.3f} ms, {:5.1f} times, {:5.1f} GFLOP/s\n", example.op,
               shapes, slow, fast, slow / fast, example.gflop / fast * 1e3);
  }
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  return partita::run_benchmark(argc, argv, "[THREADS] [REPEATS]", /*required=*/0, [](const partita::Arguments& given) {
    partita::measure(given.number(1, 2), given.number(2, 3));
  });
}

// Lower bound on a training step of a GPT: its matrix products by oneDNN alone, in f32 and in bf16.
//
//   bench_gemm LAYERS WIDTH TOKENS BATCH [THREADS=1] [VOCABULARY=65] [HEADS=WIDTH/64]
//
// Prints GFLOP/s of each product in f32, in bf16 with a result of bf16 or f32, and in bf16 with weights in oneDNN's own
// memory format; "-" where oneDNN has only its reference, or nothing. The last lines are the sums over a step in
// milliseconds: all products in f32, and in bf16 those of the layers and those of attention.

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <dnnl.hpp>
#include <string>
#include <vector>

#include "runtime/device/cpu/onednn/engine.h"
#include "runtime/device/cpu/onednn/isa.h"
#include "usage.h"

namespace partita {
namespace {

using Half = dnnl::memory::data_type;

/// y[m, n] = a[m, k] b[k, n], `count` times in a step, for each of `batch` matrices.
struct Gemm {
  std::string name;
  int64_t m = 1, n = 1, k = 1, count = 1, batch = 1;
  bool transpose_a = false, transpose_b = false;
  bool is_gradient = false;  // a parameter's gradient, which is f32

  double flops() const { return 2.0 * static_cast<double>(m * n * k * batch); }
};

Desc bench_desc(const Gemm& gemm, dnnl::memory::data_type type, int64_t rows, int64_t columns, bool transposed) {
  const int64_t row = transposed ? 1 : columns, column = transposed ? rows : 1;
  if (gemm.batch == 1) return Desc({rows, columns}, type, dnnl::memory::dims{row, column});
  return Desc({gemm.batch, rows, columns}, type, dnnl::memory::dims{rows * columns, row, column});
}

struct Timed {
  double seconds = 0;  // 0: oneDNN has no such product
  std::string kernel = "-";
};

/// The smallest time of a product of random numbers.
Timed time_of(const Gemm& gemm, Half operands, Half result, bool packs_weights) {
  const Desc a = bench_desc(gemm, operands, gemm.m, gemm.k, gemm.transpose_a);
  Desc b = bench_desc(gemm, operands, gemm.k, gemm.n, gemm.transpose_b);
  if (packs_weights) b = Desc({gemm.k, gemm.n}, operands, dnnl::memory::format_tag::any);
  const Desc y = bench_desc(gemm, result, gemm.m, gemm.n, false);
  try {
    const auto pd = describe<dnnl::matmul>(a, b, y);
    if (operands != Half::f32 && is_slow(pd)) return {};
    const dnnl::matmul product(pd);
    std::unordered_map<int, dnnl::memory> arguments;
    std::vector<std::vector<uint32_t>> memory;
    const auto add = [&](int id, const Desc& desc) {
      auto& words = memory.emplace_back(desc.get_size() / sizeof(uint32_t) + 64);
      // Small positive numbers, read as f32 or as pairs of bf16.
      for (size_t i = 0; i < words.size(); ++i) words[i] = 0x3c003c00 + 0x00100010 * static_cast<uint32_t>(i % 13);
      arguments.emplace(id, dnnl::memory(desc, onednn_engine(), words.data()));
    };
    add(DNNL_ARG_SRC, pd.src_desc());
    add(DNNL_ARG_WEIGHTS, pd.weights_desc());
    add(DNNL_ARG_DST, pd.dst_desc());
    add(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc());
    dnnl::stream stream(onednn_engine());
    double best = 1e9, sum = 0;
    constexpr double kEnough = 0.06;  // seconds
    for (int run = 0; run < 4 || (sum < kEnough && run < 200); ++run) {
      const auto begin = std::chrono::steady_clock::now();
      product.execute(stream, arguments);
      stream.wait();
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      if (run > 0) best = std::min(best, seconds);
      sum += seconds;
    }
    return {best, pd.impl_info_str()};
  } catch (const dnnl::error&) {
    return {};
  }
}

struct GptSizes {
  int64_t layers = 6, width = 384, tokens = 256, batch = 16, vocabulary = 65, heads = 6;
};

std::vector<Gemm> products_of(const GptSizes& sizes) {
  std::vector<Gemm> all;
  const int64_t rows = sizes.batch * sizes.tokens;
  const auto add = [&](const std::string& name, int64_t in, int64_t out, int64_t count) {
    all.push_back({.name = name, .m = rows, .n = out, .k = in, .count = count});
    all.push_back({.name = name + " d_x", .m = rows, .n = in, .k = out, .count = count, .transpose_b = true});
    all.push_back({.name = name + " d_w",
                   .m = in,
                   .n = out,
                   .k = rows,
                   .count = count,
                   .transpose_a = true,
                   .is_gradient = true});
  };
  add("qkv", sizes.width, sizes.width, 3 * sizes.layers);
  add("projection", sizes.width, sizes.width, sizes.layers);
  add("mlp 1", sizes.width, 4 * sizes.width, sizes.layers);
  add("mlp 2", 4 * sizes.width, sizes.width, sizes.layers);
  add("head", sizes.width, sizes.vocabulary, 1);
  const int64_t head = sizes.width / sizes.heads, pairs = sizes.batch * sizes.heads;
  // The scores are recomputed in the backward pass.
  const auto attention = [&](const std::string& name, int64_t n, int64_t k, int64_t count, bool a, bool b) {
    all.push_back({.name = "attention " + name,
                   .m = sizes.tokens,
                   .n = n,
                   .k = k,
                   .count = count * sizes.layers,
                   .batch = pairs,
                   .transpose_a = a,
                   .transpose_b = b});
  };
  attention("scores", sizes.tokens, head, 3, false, true);
  attention("values", head, sizes.tokens, 2, false, false);
  attention("d_kv", head, sizes.tokens, 2, true, false);
  return all;
}

void run_gemms(const GptSizes& sizes, int threads) {
  omp_set_num_threads(threads);
  const OneDnnFacts facts = onednn_facts();
  fmt::print("oneDNN {} {} threads {} layers {} width {} tokens {} batch {}, GFLOP/s\n", facts.version, facts.isa,
             threads, sizes.layers, sizes.width, sizes.tokens, sizes.batch);
  fmt::print("{:16} {:>5} {:>5} {:>5} {:>4} {:>8} {:>9} {:>9} {:>9}  kernel of bf16\n", "product", "m", "n", "k", "x",
             "f32", "bf16 bf16", "bf16 f32", "packed");
  double full = 0, layers = 0, attention = 0;
  for (const Gemm& gemm : products_of(sizes)) {
    const Timed f32 = time_of(gemm, Half::f32, Half::f32, false), narrow = time_of(gemm, Half::bf16, Half::bf16, false),
                wide = time_of(gemm, Half::bf16, Half::f32, false),
                packed = gemm.batch == 1 && !gemm.transpose_a ? time_of(gemm, Half::bf16, Half::bf16, true) : Timed{};
    const auto rate = [&](const Timed& timed) {
      return timed.seconds == 0 ? std::string("-") : fmt::format("{:.0f}", gemm.flops() / timed.seconds / 1e9);
    };
    fmt::print("{:16} {:5} {:5} {:5} {:4} {:>8} {:>9} {:>9} {:>9}  {}\n", gemm.name, gemm.m, gemm.n, gemm.k, gemm.count,
               rate(f32), rate(narrow), rate(wide), rate(packed), narrow.kernel);
    const auto count = static_cast<double>(gemm.count);
    full += f32.seconds * count;
    (gemm.batch == 1 ? layers : attention) += (gemm.is_gradient ? wide : narrow).seconds * count;
  }
  fmt::print("products of a step: f32 {:.2f} ms; bf16 {:.2f} ms, of layers {:.2f} ms, of attention {:.2f} ms\n",
             full * 1e3, (layers + attention) * 1e3, layers * 1e3, attention * 1e3);
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  constexpr auto kUsage = "LAYERS WIDTH TOKENS BATCH [THREADS] [VOCABULARY] [HEADS]";
  return partita::run_benchmark(argc, argv, kUsage, /*required=*/4, [](const partita::Arguments& given) {
    const auto width = given.number<int64_t>(2, 0);
    partita::run_gemms({.layers = given.number<int64_t>(1, 0),
                        .width = width,
                        .tokens = given.number<int64_t>(3, 0),
                        .batch = given.number<int64_t>(4, 0),
                        .vocabulary = given.number<int64_t>(6, 65),
                        .heads = given.number<int64_t>(7, std::max<int64_t>(1, width / 64))},
                       given.number(5, 1));
  });
}

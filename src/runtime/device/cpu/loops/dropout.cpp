// Dropout: four random words at a time, parts of the tensor in parallel.

#include <algorithm>
#include <cmath>

#include "base/philox.h"
#include "ir/ops/random/attrs.h"
#include "runtime/device/cpu/loops/loop_support.h"

namespace partita {
namespace {

constexpr auto kDropout = "loops.dropout";
constexpr int64_t kPiece = 4096;

/// Elements that are contiguous both in this shard and in the whole tensor.
struct Piece {
  uint64_t global;  // index of the first element in the whole tensor
  int64_t local, count;
};

std::vector<Piece> pieces_of(const Shape& shape, const DropoutAttrs& attrs) {
  std::vector<Piece> pieces;
  const int64_t total = elements(shape);
  if (attrs.whole.empty()) {
    for (int64_t at = 0; at < total; at += kPiece) {
      pieces.push_back({static_cast<uint64_t>(at), at, std::min(kPiece, total - at)});
    }
  } else if (total > 0) {
    const int64_t width = shape.empty() ? 1 : shape.back();
    for (int64_t global : first_elements(shape, attrs.whole, attrs.begin)) {
      pieces.push_back({static_cast<uint64_t>(global), static_cast<int64_t>(pieces.size()) * width, width});
    }
  }
  return pieces;
}

/// Binds a loop from elements of type X to elements of type Y, in f64 or else in f32.
template <class X, class Y>
LoopFn bind_dropout(const KernelQuery& query) {
  const auto& attrs = query.attrs.as<DropoutAttrs>();
  const uint64_t key = static_cast<uint64_t>(attrs.key);
  // Random words below this drop their element.
  const auto dropped = static_cast<uint64_t>(std::ceil(attrs.rate * 4294967296.0));
  using T = std::conditional_t<std::is_same_v<X, double>, double, float>;
  const T kept = static_cast<T>(1 / (1 - attrs.rate));
  const bool parallel = query.outputs[0].elements() > kSerialElements;
  return [=, pieces = pieces_of(query.inputs[0].shape, attrs)](auto in, auto out, void*) {
    const uint64_t step = static_cast<uint64_t>(*static_cast<const int64_t*>(in[1]));
    const auto count = static_cast<int64_t>(pieces.size());
#pragma omp parallel for if (parallel)
    for (int64_t i = 0; i < count; ++i) {
      const Piece& piece = pieces[i];
      const auto* x = static_cast<const X*>(in[0]) + piece.local;
      auto* y = static_cast<Y*>(out[0]) + piece.local;
      const uint64_t end = piece.global + static_cast<uint64_t>(piece.count);
      for (uint64_t element = piece.global; element < end;) {
        const PhiloxBlock block = random_block(key, element / 4, step);
        const uint64_t stop = std::min(end, element / 4 * 4 + 4);
        for (; element < stop; ++element, ++x, ++y) {
          *y = Y(block[element % 4] >= dropped ? static_cast<T>(*x) * kept : T{0});
        }
      }
    }
  };
}

}  // namespace

std::vector<KernelDef> dropout_kernels() {
  KernelDef def{.name = kDropout, .ops = {"dropout"}};
  def.propose = [](const KernelQuery& query) {
    return propose_dense(kDropout, query, {{0, 0}}, {.operands = {0}, .results = {0}});
  };
  def.make = [](const KernelQuery& query, const KernelChoice&) {
    LoopFn run;
    if (query.inputs[0].dtype == DType::f64) return make_loop(bind_dropout<double, double>(query));
    for_narrow_float(query.inputs[0].dtype, [&](auto from) {
      for_narrow_float(query.outputs[0].dtype,
                       [&](auto to) { run = bind_dropout<decltype(from), decltype(to)>(query); });
    });
    return make_loop(std::move(run));
  };
  def.mixes_halves = true;
  return {def};
}

}  // namespace partita

#include "compiler/emit/padded_values.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "compiler/emit/emit_collective.h"
#include "ir/graph/emit_call.h"

namespace partita {
namespace {

/// Returns the elements from `begin` on, `size` of them, along a dimension.
Hlo piece_of(HloBody& body, const Hlo& x, int64_t dim, int64_t begin, int64_t size) {
  std::vector<std::string> ranges;
  Type type = x.type;
  for (size_t d = 0; d < type.shape.size(); ++d) {
    const bool is_cut = static_cast<int64_t>(d) == dim;
    ranges.push_back(fmt::format("{}:{}", is_cut ? begin : 0, is_cut ? begin + size : type.shape[d]));
    if (is_cut) type.shape[d] = size;
  }
  return body.add_typed("stablehlo.slice", {x}, fmt::format(" [{}]", fmt::join(ranges, ", ")), type);
}

Shape with_size(Shape shape, int64_t dim, int64_t size) {
  shape[static_cast<size_t>(dim)] = size;
  return shape;
}

Hlo concatenated(HloBody& body, const std::vector<Hlo>& pieces, int64_t dim) {
  int64_t size = 0;
  for (const Hlo& piece : pieces) size += piece.type.shape[static_cast<size_t>(dim)];
  return body.add_typed("stablehlo.concatenate", pieces, fmt::format(", dim = {}", dim),
                        {pieces[0].type.dtype, with_size(pieces[0].type.shape, dim, size)});
}

/// Calls `write` for each distinct list of pieces.
Hlo by_pieces(HloBody& body, const PieceSizes& sizes,
              const std::function<Hlo(HloBody&, const std::vector<int64_t>&)>& write) {
  RankBranches branches;
  for (const std::vector<int64_t>& own : sizes) {
    branches.add(fmt::format("{}", own), [&](HloBody& inner) { return std::vector{write(inner, own)}; });
  }
  return branches.choose(body)[0];
}

bool are_all(const PieceSizes& sizes, int64_t room) {
  return std::ranges::all_of(sizes, [&](const std::vector<int64_t>& own) {
    return std::ranges::all_of(own, [&](int64_t size) { return size == room; });
  });
}

}  // namespace

Hlo emit_cut(HloBody& body, const Hlo& x, const Shape& shape) {
  if (x.type.shape == shape) return x;
  std::vector<std::string> ranges;
  for (const int64_t size : shape) ranges.push_back(fmt::format("0:{}", size));
  Hlo cut =
      body.add_typed("stablehlo.slice", {x}, fmt::format(" [{}]", fmt::join(ranges, ", ")), {x.type.dtype, shape});
  cut.half = x.half;
  return cut;
}

Hlo emit_extended(HloBody& body, const Hlo& x, const Shape& shape) {
  if (x.type.shape == shape) return x;
  const std::vector<int64_t> zeros(shape.size(), 0);
  std::vector<int64_t> after;
  for (size_t d = 0; d < shape.size(); ++d) after.push_back(shape[d] - x.type.shape[d]);
  const Hlo zero = call_in(body).splat(0, {x.type.dtype, {}});
  Hlo extended = body.add_typed("stablehlo.pad", {x, zero},
                                fmt::format(", low = [{}], high = [{}], interior = [{}]", fmt::join(zeros, ", "),
                                            fmt::join(after, ", "), fmt::join(zeros, ", ")),
                                {x.type.dtype, shape});
  extended.half = x.half;
  return extended;
}

void RankBranches::add(const std::string& text, const HloBody::Branch& branch) {
  const auto known = std::ranges::find(texts_, text);
  of_rank_.push_back(known - texts_.begin());
  if (known != texts_.end()) return;
  texts_.push_back(text);
  branches_.push_back(branch);
}

std::vector<Hlo> RankBranches::choose(HloBody& body) const {
  return branches_.size() == 1 ? branches_[0](body) : body.add_case(emit_by_rank(body, of_rank_), branches_);
}

Hlo emit_spread(HloBody& body, const Hlo& x, int64_t dim, const PieceSizes& sizes, int64_t room) {
  if (are_all(sizes, room)) return x;
  return by_pieces(body, sizes, [&](HloBody& inner, const std::vector<int64_t>& own) {
    std::vector<Hlo> pieces;
    int64_t begin = 0;
    for (const int64_t size : own) {
      const Hlo piece = piece_of(inner, x, dim, begin, size);
      pieces.push_back(emit_extended(inner, piece, with_size(piece.type.shape, dim, room)));
      begin += size;
    }
    return concatenated(inner, pieces, dim);
  });
}

Hlo emit_joined(HloBody& body, const Hlo& x, int64_t dim, const PieceSizes& sizes, int64_t size) {
  const int64_t room = x.type.shape[static_cast<size_t>(dim)] / static_cast<int64_t>(sizes.at(0).size());
  if (are_all(sizes, room)) return x;
  return by_pieces(body, sizes, [&](HloBody& inner, const std::vector<int64_t>& own) {
    std::vector<Hlo> pieces;
    for (size_t i = 0; i < own.size(); ++i) {
      pieces.push_back(piece_of(inner, x, dim, static_cast<int64_t>(i) * room, own[i]));
    }
    return emit_extended(inner, concatenated(inner, pieces, dim), with_size(x.type.shape, dim, size));
  });
}

}  // namespace partita

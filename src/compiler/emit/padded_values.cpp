#include "compiler/emit/padded_values.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/emit/emit_collective.h"
#include "ir/ops/emission.h"

namespace partita {
namespace {

/// Returns the elements from `begin` on, `size` of them, along a dimension.
Hlo piece_of(HloBody& body, const Hlo& x, int64_t dim, int64_t begin, int64_t size) {
  const std::vector<int64_t> steps(x.type.shape.size(), 1);
  std::vector<int64_t> from(x.type.shape.size(), 0), to = x.type.shape;
  from[static_cast<size_t>(dim)] = begin;
  to[static_cast<size_t>(dim)] = begin + size;
  return hlo_slice(call_in(body), x, from, to, steps);
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
  const std::vector<int64_t> from(shape.size(), 0), steps(shape.size(), 1);
  Hlo cut = hlo_slice(call_in(body), x, from, shape, steps);
  cut.half = x.half;
  return cut;
}

Hlo emit_extended(HloBody& body, const Hlo& x, const Shape& shape) {
  if (x.type.shape == shape) return x;
  const EmitCall call = call_in(body);
  std::vector<HloEdge> edges;
  for (size_t d = 0; d < shape.size(); ++d) edges.push_back({.after = shape[d] - x.type.shape[d]});
  Hlo extended = hlo_pad(call, x, call.splat(0, {x.type.dtype, {}}), edges);
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

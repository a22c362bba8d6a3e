#pragma once
// Values that are longer in a program than on a rank: their own elements come first in each dimension.

#include <functional>
#include <string>
#include <vector>

#include "ir/graph/hlo.h"

namespace partita {

/// Returns the elements of `x` from the first on that a value of `shape` has.
Hlo emit_cut(HloBody& body, const Hlo& x, const Shape& shape);
/// Returns a value of `shape` that begins with `x`. What comes after it are zeros.
Hlo emit_extended(HloBody& body, const Hlo& x, const Shape& shape);

/// Branches of a program by what is alike on ranks, replica by replica.
class RankBranches {
 public:
  /// Adds the next rank, with a text of what distinguishes it, and the branch of ranks with this text.
  void add(const std::string& text, const HloBody::Branch& branch);
  /// Writes the only branch by itself, or the choice of one.
  std::vector<Hlo> choose(HloBody& body) const;

 private:
  std::vector<std::string> texts_;
  std::vector<HloBody::Branch> branches_;
  std::vector<int64_t> of_rank_;
};

/// Sizes of pieces along a dimension, by rank.
using PieceSizes = std::vector<std::vector<int64_t>>;
/// Moves pieces that lie one after another along `dim` apart, so that piece i begins at i times `room`. Returns `x` if
/// all pieces have that size.
Hlo emit_spread(HloBody& body, const Hlo& x, int64_t dim, const PieceSizes& sizes, int64_t room);
/// Does the reverse. The result has `size` elements along `dim`, of which those after the last piece are padding.
Hlo emit_joined(HloBody& body, const Hlo& x, int64_t dim, const PieceSizes& sizes, int64_t size);

}  // namespace partita

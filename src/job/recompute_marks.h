#pragma once
// Which layers a training recomputes, one by one.

#include "compiler/autodiff/recompute.h"

namespace partita {

/// Layers by their paths (compiler/plan/layer_names.h), and how much of them is recomputed: selective or full.
struct RecomputeMark {
  std::string layers;
  Recompute policy = Recompute::full;
  bool operator==(const RecomputeMark&) const = default;
};

/// "net/h/0..5=full"; `parse_recompute_mark` throws InvalidArgument.
std::string print(const RecomputeMark& mark);
RecomputeMark parse_recompute_mark(std::string_view text);

/// Chooses nodes of the forward, besides those that layers have chosen in the code. Throws InvalidArgument for a mark
/// that names no layer, or layers of which nothing can be recomputed so, and for a layer with two different marks.
void mark_recomputed(Graph& forward, const OpSet& ops, const std::vector<RecomputeMark>& marks);

}  // namespace partita

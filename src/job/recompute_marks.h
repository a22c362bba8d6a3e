#pragma once
// Recomputation policies of single layers.

#include <string>
#include <string_view>
#include <vector>

#include "compiler/autodiff/recompute_policy.h"

namespace partita {

struct Graph;
class OpSet;

/// Paths of layers (compiler/plan/layer_names.h) and how much of them is recomputed: selective or full.
struct RecomputeMark {
  std::string layers;
  Recompute policy = Recompute::full;
  bool operator==(const RecomputeMark&) const = default;
};

/// "net/h/0..5=full".
std::string print(const RecomputeMark& mark);
/// Parses what `print` writes. Throws InvalidArgument for other texts.
RecomputeMark parse_recompute_mark(std::string_view text);

/// Marks forward nodes for recomputation, in addition to those that layers mark in the code. Throws InvalidArgument if
/// `marks` name a layer that does not exist, a layer with nothing to recompute under the policy, or one layer with two
/// policies.
void mark_recomputed(Graph& forward, const OpSet& ops, const std::vector<RecomputeMark>& marks);

}  // namespace partita

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
struct RecomputeAnnotation {
  std::string layers;
  Recompute policy = Recompute::full;
  bool operator==(const RecomputeAnnotation&) const = default;
};

/// Returns the annotation as text, such as "net/h/0..5=full".
std::string print(const RecomputeAnnotation& annotation);
/// Parses what `print` writes. Throws InvalidArgument for other texts.
RecomputeAnnotation parse_recompute_annotation(std::string_view text);

/// Annotates forward nodes of the named layers for recomputation; nodes that layers annotate in the code stay as they
/// are. Throws InvalidArgument if `annotations` name a layer that does not exist, a layer with nothing to recompute
/// under the policy, or one layer with two policies.
void annotate_recomputed(Graph& forward, const OpSet& ops, const std::vector<RecomputeAnnotation>& annotations);

}  // namespace partita

#include "job/recompute_annotations.h"

#include "compiler/autodiff/recompute.h"
#include "compiler/plan/layer_names.h"

namespace partita {

std::string print(const RecomputeAnnotation& annotation) {
  return fmt::format("{}={}", annotation.layers, name_of(annotation.policy));
}

RecomputeAnnotation parse_recompute_annotation(std::string_view text) {
  const size_t equals = text.rfind('=');
  const std::string_view name = equals == text.npos ? "" : text.substr(equals + 1);
  const auto policy = name == "selective" ? Recompute::selective : name == "full" ? Recompute::full : Recompute::none;
  if (equals == 0 || policy == Recompute::none) {
    throw InvalidArgument(
        "[--recompute-layers] not a recomputation of layers, got '{}', expected LAYERS=selective or LAYERS=full, such "
        "as net/h/0..5=full",
        text);
  }
  return {std::string(text.substr(0, equals)), policy};
}

void annotate_recomputed(Graph& forward, const OpSet& ops, const std::vector<RecomputeAnnotation>& annotations) {
  std::vector<const RecomputeAnnotation*> chosen(forward.nodes.size(), nullptr);
  const LayerNames names(forward);
  for (const RecomputeAnnotation& annotation : annotations) {
    bool any = false;
    for (const size_t n : names.nodes_of(annotation.layers, "recompute")) {
      Node& node = forward.nodes[n];
      if (chosen[n] != nullptr && chosen[n]->policy != annotation.policy) {
        throw InvalidArgument("[recompute] a layer is recomputed in two ways, got '{}' and '{}' for {}, expected one",
                              print(*chosen[n]), print(annotation), path_of_node(node));
      }
      chosen[n] = &annotation;
      const std::string group = recomputed_group(node, annotation.policy, ops);
      any = any || !group.empty();
      if (node.recompute.empty()) node.recompute = group;
    }
    if (any) continue;
    throw InvalidArgument("[recompute] nothing to recompute, got '{}', expected layers {}", print(annotation),
                          annotation.policy == Recompute::full ? "in numbered scopes" : "with attention");
  }
}

}  // namespace partita

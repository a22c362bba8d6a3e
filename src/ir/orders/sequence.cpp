#include "ir/orders/sequence.h"

#include <algorithm>

#include "base/error.h"
#include "ir/orders/orders.h"
#include "ir/orders/section_graph.h"
#include "ir/orders/simulate.h"

namespace partita {

int PipelineShape::group_count() const { return groups.empty() ? 0 : *std::ranges::max_element(groups) + 1; }

std::vector<Dependency> chain_of(int stages) {
  std::vector<Dependency> chain;
  for (int stage = 0; stage + 1 < stages; ++stage) {
    chain.push_back({stage, StageSection::forward, stage + 1, StageSection::forward});
    chain.push_back({stage + 1, StageSection::backward, stage, StageSection::backward});
  }
  return chain;
}

Sequence make_sequence(Order order, const PipelineShape& shape, const std::vector<Dependency>& dependencies) {
  const bool has_weight = order == Order::zero_bubble && !shape.forward_only;
  const SectionGraph graph(shape, dependencies, has_weight);
  const auto queues = [&] {
    if (shape.forward_only) return forwards_alone(graph);
    switch (order) {
      case Order::gpipe: return gpipe(graph);
      case Order::one_forward_one_backward: return one_forward_one_backward(graph);
      case Order::interleaved: return interleaved(graph);
      case Order::zero_bubble: return zero_bubble(graph);
    }
    PARTITA_CHECK(false, "order {}", static_cast<int>(order));
  }();
  return sequence_of(simulate(queues, graph));
}

std::string short_name(const Slot& slot, bool with_stage) {
  const char letter = "FBW"[static_cast<size_t>(slot.section)];
  return with_stage ? fmt::format("{}{}.{}", letter, slot.micro_batch, slot.stage)
                    : fmt::format("{}{}", letter, slot.micro_batch);
}

std::string long_name(const Slot& slot) { return fmt::format("stage {} {}", slot.stage, short_name(slot, false)); }

}  // namespace partita

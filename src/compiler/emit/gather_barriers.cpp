#include "compiler/emit/gather_barriers.h"

#include <algorithm>

#include "compiler/emit/recompute_barriers.h"
#include "compiler/partition/collectives.h"

namespace partita {

GatherBarriers::GatherBarriers(const Segment& segment, const Schedule& schedule, const LocalGraph& local)
    : local_(local), ahead_(8 * kBucketBytes) {
  for (size_t i = segment.begin; i < segment.end; ++i) {
    const NodeId node = schedule.instructions[i].node;
    if (node >= 0 && is_regather(local.graph.nodes[node])) ahead_ = std::max(ahead_, bytes_of(node));
  }
}

Hlo GatherBarriers::in_time(NodeId node, const Hlo& operand, HloBody& body) {
  if (!is_regather(local_.graph.nodes[node])) return operand;
  while (begun_.size() > 1 && gathered_ - begun_[1].bytes >= ahead_) begun_.pop_front();
  const bool is_behind = !begun_.empty() && gathered_ - begun_[0].bytes >= ahead_;
  const Hlo taken = is_behind ? emit_barrier(body, {operand, begun_[0].last})[0] : operand;
  if (last_) begun_.push_back({gathered_, *last_});
  gathered_ += bytes_of(node);
  return taken;
}

}  // namespace partita

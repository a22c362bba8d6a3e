#include "training/report/predicted_trace.h"

#include <algorithm>

#include "ir/ops/registry.h"
#include "planner/cluster/presets.h"

namespace partita {
namespace {

Span::Kind kind_of(PredictedSpan::Kind kind) {
  switch (kind) {
    case PredictedSpan::section: return Span::section;
    case PredictedSpan::instruction: return Span::instruction;
    case PredictedSpan::send: return Span::send;
    case PredictedSpan::receive: return Span::receive;
    case PredictedSpan::verdict: return Span::verdict;
  }
  return Span::instruction;
}

int64_t nanoseconds(double seconds) { return static_cast<int64_t>(1e9 * seconds); }

}  // namespace

SimulatedStep predict_step(const Program& program, const std::string& cluster, int threads) {
  const StepPrices prices = prices_of(program.pipeline, program.stages, all_ops(), open_cluster(cluster), threads);
  return simulate_program(program.pipeline, program.stages, prices, {.spans = true});
}

RankTrace predicted_trace(const SimulatedStep& step, const Program& program, int rank, const RankTrace& first) {
  const auto& groups = program.pipeline.groups;
  const auto group =
      std::ranges::find_if(groups, [&](const RankGroup& one) { return one.contains(rank); }) - groups.begin();
  RankTrace trace{.rank = rank, .first = first.first, .last = first.last, .is_predicted = true};
  for (const Span& whole : first.spans) {
    if (whole.kind != Span::whole_step) continue;
    const auto add = [&](Span span, double begin, double end) {
      span.step = whole.step;
      span.begin = whole.begin + nanoseconds(begin);
      span.end = whole.begin + nanoseconds(end);
      trace.spans.push_back(span);
    };
    add({.kind = Span::whole_step}, 0, step.seconds);
    for (const PredictedSpan& span : step.groups[static_cast<size_t>(group)].spans) {
      add({.kind = kind_of(span.kind),
           .thread = span.thread,
           .stage = span.stage,
           .index = static_cast<int32_t>(span.index),
           .micro_batch = static_cast<int32_t>(span.micro_batch)},
          span.begin, span.end);
    }
  }
  return trace;
}

}  // namespace partita

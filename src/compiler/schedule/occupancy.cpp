#include "compiler/schedule/occupancy.h"

#include <algorithm>

namespace partita {

void ByteRanges::add(int64_t begin, int64_t end) {
  auto next = ranges_.upper_bound(begin);
  if (next != ranges_.begin() && std::prev(next)->second >= begin) {
    --next;
    begin = next->first;
  }
  while (next != ranges_.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = ranges_.erase(next);
  }
  ranges_.emplace_hint(next, begin, end);
}

int64_t ByteRanges::end_of_overlap(int64_t begin, int64_t end) const {
  auto range = ranges_.upper_bound(begin);
  if (range != ranges_.begin() && std::prev(range)->second > begin) return std::prev(range)->second;
  return range != ranges_.end() && range->first < end ? range->second : begin;
}

Occupancy::Occupancy(size_t moments) {
  while (moments_ < moments) moments_ *= 2;
  nodes_.resize(2 * moments_);
}

/// Calls `wholly` for the nodes under `span` that make up its part of the lifetime, and `partly` for their ancestors
/// from `span` down.
template <class Partly, class Wholly>
void Occupancy::visit(Span span, Lifetime lifetime, const Partly& partly, const Wholly& wholly) {
  if (lifetime.last < span.begin || span.end <= lifetime.first) return;
  Node& node = nodes_[span.node];
  if (lifetime.first <= span.begin && span.end <= lifetime.last + 1) return wholly(node);
  partly(node);
  const size_t middle = (span.begin + span.end) / 2;
  visit({2 * span.node, span.begin, middle}, lifetime, partly, wholly);
  visit({2 * span.node + 1, middle, span.end}, lifetime, partly, wholly);
}

int64_t Occupancy::take(Lifetime lifetime, int64_t base, int64_t bytes) {
  const Span all{1, 0, moments_};
  std::vector<const ByteRanges*> met;
  const auto meet = [&](const ByteRanges& ranges) {
    if (!ranges.empty()) met.push_back(&ranges);
  };
  visit(
      all, lifetime, [&](const Node& node) { meet(node.throughout); }, [&](const Node& node) { meet(node.sometimes); });
  int64_t offset = base;
  for (size_t agreed = 0, next = 0; agreed < met.size(); next = (next + 1) % met.size()) {
    const int64_t past = met[next]->end_of_overlap(offset, offset + bytes);
    agreed = past == offset ? agreed + 1 : 0;
    offset = past;
  }
  visit(
      all, lifetime, [&](Node& node) { node.sometimes.add(offset, offset + bytes); },
      [&](Node& node) {
        node.sometimes.add(offset, offset + bytes);
        node.throughout.add(offset, offset + bytes);
      });
  return offset;
}

}  // namespace partita

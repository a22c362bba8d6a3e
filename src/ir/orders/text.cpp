#include "ir/orders/text.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ir/orders/simulate.h"

namespace partita {
namespace {

constexpr size_t kMaxPeriod = 2048;  // slots in brackets

struct Repetition {
  size_t period = 1, count = 1;
};

/// Returns how often the `period` slots from `begin` on repeat in a row, the first time included. The queue must be
/// long enough for two times.
size_t repetitions(const std::vector<Slot>& queue, size_t begin, size_t period) {
  const size_t left = queue.size() - begin;
  for (size_t i = begin + 1; i < begin + period; ++i) {
    if (!is_same_section(queue[i], queue[i + period])) return 1;
  }
  const std::vector<int64_t> steps = steps_of(&queue[begin], period);
  size_t matched = 0;
  for (; period + matched < left; ++matched) {
    const Slot &before = queue[begin + matched], &slot = queue[begin + period + matched];
    if (!is_same_section(before, slot) || slot.micro_batch != before.micro_batch + steps[matched % period]) break;
  }
  return 1 + matched / period;
}

/// Returns, per slot, the index of the next slot of its section, or the size of the queue if there is none.
std::vector<size_t> next_of_section(const std::vector<Slot>& queue) {
  std::vector<size_t> next(queue.size());
  std::map<std::pair<int, StageSection>, size_t> nearest;
  for (size_t i = queue.size(); i-- > 0;) {
    const auto [place, is_new] = nearest.try_emplace({queue[i].stage, queue[i].section}, queue.size());
    next[i] = std::exchange(place->second, i);
  }
  return next;
}

/// Returns the repetition from `begin` on that covers the most slots. Returns a single slot if none repeats three times
/// (a block of one slot: four times).
Repetition best_repetition(const std::vector<Slot>& queue, const std::vector<size_t>& next, size_t begin) {
  Repetition best;
  const size_t most = std::min(kMaxPeriod, (queue.size() - begin) / 2);
  for (size_t again = next[begin]; again <= begin + most; again = next[again]) {
    const size_t period = again - begin, count = repetitions(queue, begin, period);
    const bool is_worth_it = count >= (period == 1 ? 4 : 3);
    if (is_worth_it && period * count > best.period * best.count) best = {period, count};
  }
  return best;
}

std::string print_group(const std::vector<Slot>& queue, bool with_stage) {
  std::string text;
  const auto block = [&](size_t begin, size_t period) {
    std::string slots;
    for (size_t i = begin; i < begin + period; ++i) {
      slots += (i > begin ? " " : "") + short_name(queue[i], with_stage);
    }
    return period == 1 ? slots : "[" + slots + "]";
  };
  const std::vector<size_t> next = next_of_section(queue);
  for (size_t begin = 0; begin < queue.size();) {
    const auto [period, count] = best_repetition(queue, next, begin);
    text += " " + block(begin, period);
    if (count > 1) text += ".." + block(begin + period * (count - 1), period);
    begin += period * count;
  }
  return text;
}

}  // namespace

std::vector<int64_t> steps_of(const Slot* block, size_t period) {
  std::vector<size_t> sorted(period);
  for (size_t i = 0; i < period; ++i) sorted[i] = i;
  const auto section = [&](size_t i) { return std::pair(block[i].stage, block[i].section); };
  std::ranges::sort(sorted, [&](size_t a, size_t b) { return section(a) < section(b); });
  std::vector<int64_t> steps(period);
  for (size_t first = 0, end = 0; first < period; first = end) {
    while (end < period && section(sorted[end]) == section(sorted[first])) ++end;
    for (size_t i = first; i < end; ++i) steps[sorted[i]] = static_cast<int64_t>(end - first);
  }
  return steps;
}

std::string print(const Sequence& sequence, const PipelineShape& shape) {
  const GroupQueues queues = queues_of(sequence, shape);
  std::vector<int> stages(queues.size());
  for (const int group : shape.groups) ++stages[group];
  std::string text;
  for (size_t group = 0; group < queues.size(); ++group) {
    text += fmt::format("group {}:{}\n", group, print_group(queues[group], stages[group] > 1));
  }
  return text;
}

}  // namespace partita

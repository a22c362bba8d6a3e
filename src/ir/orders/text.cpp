#include "ir/orders/text.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/cursor.h"
#include "base/listed.h"
#include "ir/orders/check.h"
#include "ir/orders/simulate.h"

namespace partita {
namespace {

constexpr size_t kMaxPeriod = 2048;  // slots in brackets

bool is_same_section(const Slot& a, const Slot& b) { return a.stage == b.stage && a.section == b.section; }

/// Returns, for each slot of a block, the number of micro-batches by which its section advances from one repetition to
/// the next: the number of slots that the section has in the block.
std::vector<int64_t> steps_of(const Slot* block, size_t period) {
  std::vector<size_t> sorted(period);
  for (size_t i = 0; i < period; ++i) sorted[i] = i;
  const auto section = [&](size_t i) { return std::pair(block[i].stage, block[i].section); };
  std::sort(sorted.begin(), sorted.end(), [&](size_t a, size_t b) { return section(a) < section(b); });
  std::vector<int64_t> steps(period);
  for (size_t first = 0, end = 0; first < period; first = end) {
    while (end < period && section(sorted[end]) == section(sorted[first])) ++end;
    for (size_t i = first; i < end; ++i) steps[sorted[i]] = static_cast<int64_t>(end - first);
  }
  return steps;
}

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

/// Reads one line of the text. Throws InvalidArgument for a line of another form.
class SequenceReader : public Cursor {
 public:
  SequenceReader(std::string_view line, int line_number, int group, const PipelineShape& shape,
                 const std::vector<int>& stages)
      : Cursor(line), line_number_(line_number), group_(group), shape_(shape), stages_(stages) {}

  void read(Sequence& sequence) {
    expect("group");
    if (const int64_t group = number(); group != group_) {
      fail("groups out of order", fmt::format("group {}", group), fmt::format("group {}", group_));
    }
    expect(":");
    max_ = sequence.size() + stages_.size() * kStageSections * static_cast<size_t>(shape_.micro_batches);
    while (!rest().empty()) {
      const std::vector<Slot> first = block();
      if (take("..")) {
        repeat(first, block(), sequence);
      } else {
        append(first, sequence);
      }
    }
  }

 private:
  std::string message(std::string_view what, std::string_view got, std::string_view expected) const override {
    return fmt::format("[sequence] line {}: {}, got '{}', expected {}", line_number_, what, got, expected);
  }

  std::string name(const Slot& slot) const { return short_name(slot, stages_.size() > 1); }

  std::vector<Slot> block() {
    if (!take("[")) return {slot()};
    std::vector<Slot> slots;
    do {
      slots.push_back(slot());
    } while (!take("]"));
    return slots;
  }

  Slot slot() {
    Slot slot;
    if (take("F")) {
      slot.section = StageSection::forward;
    } else if (take("B")) {
      slot.section = StageSection::backward;
    } else if (take("W")) {
      slot.section = StageSection::weight;
    } else {
      fail("not a slot", rest().substr(0, rest().find(' ')), "F, B or W with a micro-batch");
    }
    slot.micro_batch = number(0, shape_.micro_batches - 1);
    slot.stage = stages_.front();
    if (!rest().starts_with("..") && take(".")) {
      slot.stage = integer();
      if (std::find(stages_.begin(), stages_.end(), slot.stage) == stages_.end()) {
        fail("a stage of another group", fmt::format("{}", slot.stage), expected_stages());
      }
    } else if (stages_.size() > 1) {
      fail("a slot without its stage", name(slot).substr(0, name(slot).find('.')), expected_stages());
    }
    return slot;
  }

  std::string expected_stages() const {
    return fmt::format("{} {} as in {}", stages_.size() > 1 ? "one of" : "stage", listed(stages_, ", "),
                       short_name({stages_.back(), StageSection::forward, 0}, true));
  }

  void append(const std::vector<Slot>& slots, Sequence& sequence) const {
    if (sequence.size() + slots.size() > max_) {
      fail("more slots than the group has", name(slots.front()),
           fmt::format("at most {} per section and stage", shape_.micro_batches));
    }
    sequence.insert(sequence.end(), slots.begin(), slots.end());
  }

  /// Appends the block `slots` and its repetitions up to the block `last`. Throws InvalidArgument if they do not reach
  /// it or are more slots than the group has.
  void repeat(std::vector<Slot> slots, const std::vector<Slot>& last, Sequence& sequence) const {
    const std::vector<int64_t> steps = steps_of(slots.data(), slots.size());
    const int64_t distance = last.front().micro_batch - slots.front().micro_batch;
    const int64_t times = distance / steps[0];
    bool fits = slots.size() == last.size() && distance >= 0 && distance % steps[0] == 0;
    for (size_t i = 0; fits && i < slots.size(); ++i) {
      fits = is_same_section(slots[i], last[i]) && last[i].micro_batch == slots[i].micro_batch + times * steps[i];
    }
    if (!fits) {
      fail("the end of a repetition does not match its beginning", name(last.front()),
           "the slots at its beginning, moved by a number of micro-batches");
    }
    append(slots, sequence);
    for (int64_t time = 0; time < times; ++time) {
      for (size_t i = 0; i < slots.size(); ++i) slots[i].micro_batch += steps[i];
      append(slots, sequence);
    }
  }

  int line_number_, group_;
  const PipelineShape& shape_;
  const std::vector<int>& stages_;
  size_t max_ = 0;
};

}  // namespace

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

Sequence parse_sequence(std::string_view text, const PipelineShape& shape,
                        const std::vector<Dependency>& dependencies) {
  const SectionGraph graph(shape, dependencies, false);  // rejects a bad shape
  Sequence sequence;
  int group = 0, line_number = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    ++line_number;
    if (line.find_first_not_of(' ') == line.npos) continue;
    if (group == graph.groups()) {
      throw InvalidArgument(
          fmt::format("[sequence] line {}: too many groups, got '{}', expected {}", line_number, line, graph.groups()));
    }
    SequenceReader(line, line_number, group, shape, graph.stages_of(group)).read(sequence);
    ++group;
  }
  if (group < graph.groups()) {
    throw InvalidArgument(fmt::format("[sequence] groups are missing, got {}, expected {}", group, graph.groups()));
  }
  return in_order_of_time(sequence, shape, dependencies);
}

}  // namespace partita

#include <algorithm>

#include "base/cursor.h"
#include "base/listed.h"
#include "ir/orders/check.h"
#include "ir/orders/simulate.h"
#include "ir/orders/text.h"
#include "support/texts/texts.h"

namespace partita {
namespace {

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

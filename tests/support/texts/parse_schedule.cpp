// Reads the text form of a schedule. A line names only buffers and buckets defined before it.

#include <string>
#include <unordered_map>

#include "base/fields.h"
#include "compiler/partition/collectives.h"
#include "support/texts/schedule_reader.h"
#include "support/texts/texts.h"

namespace partita {
namespace {

class Parser {
 public:
  Parser(std::string_view text, const LocalGraph& local)
      : reader_(text, local), graph_(local.graph), bucket_of_(graph_.nodes.size(), -1) {
    schedule_.entry.assign(graph_.states.size(), -1);
    schedule_.exit.assign(graph_.states.size(), -1);
    schedule_.inputs.assign(graph_.inputs.size(), -1);
    schedule_.outputs.assign(graph_.outputs.size(), -1);
    for (size_t i = 0; i < graph_.inputs.size(); ++i) inputs_.emplace(graph_.inputs[i].value, i);
    for (size_t s = 0; s < graph_.states.size(); ++s) states_.emplace(graph_.states[s].entry, s);
    for (size_t k = 0; k < graph_.outputs.size(); ++k) outputs_.emplace(graph_.outputs[k].name, k);
  }

  Schedule run() {
    while (reader_.next()) {
      read_line();
      reader_.end();
    }
    check_complete();
    fill_sections();
    return std::move(schedule_);
  }

 private:
  void read_line() {
    if (reader_.rest().front() == '%') {
      schedule_.instructions.push_back(parse_instruction(reader_));
      return;
    }
    const std::string keyword = reader_.word();
    if (keyword == "graph") return read_graph();
    if (keyword == "arena") return read_arena();
    if (keyword == "buffer") return reader_.add_buffer();
    if (keyword == "input") return read_input();
    if (keyword == "state") return read_state();
    if (keyword == "output") return read_output();
    if (keyword == "bucket") return read_bucket();
    if (keyword == "reduce") return read_message(Instruction::reduce);
    if (keyword == "start") return read_message(Instruction::start);
    if (keyword == "wait") return read_message(Instruction::wait);
    for (const Section section : kSections) {
      if (section != Section::once && keyword == name_of(section)) return begin_section(section);
    }
    reader_.fail(
        "unknown line", keyword,
        "graph, arena, buffer, input, state, output, bucket, reduce, start, wait, prologue, joined, micro, backward, "
        "weight, late, update or %value = ...");
  }

  void begin_section(Section section) {
    reader_.once(has_section_[static_cast<size_t>(section)], name_of(section));
    schedule_.begins[static_cast<size_t>(section)] = schedule_.instructions.size();
  }

  void read_graph() {
    reader_.once(has_graph_, "graph");
    const std::string_view name = reader_.take_rest();
    if (name != graph_.name) reader_.fail("a schedule of another graph", name, graph_.name);
  }

  void read_arena() {
    reader_.once(has_arena_, "arena");
    schedule_.arena_bytes = reader_.number();
    reader_.expect("kept");
    schedule_.state_bytes = reader_.number();
    reader_.expect("scratch");
    schedule_.scratch_bytes = reader_.number();
    reader_.expect("@");
    schedule_.scratch_offset = reader_.number();
    if (reader_.take("external")) schedule_.external_bytes = reader_.number();
  }

  /// Returns what `places` has for `key`, the index of an input, state or output, or `none` if it lacks the key.
  template <class Places, class Key>
  static size_t place_of(const Places& places, const Key& key, size_t none) {
    const auto found = places.find(key);
    return found == places.end() ? none : found->second;
  }

  /// Sets the buffer of the `place`-th input, state or output of the graph in `list`; `what` names it in messages.
  /// Throws InvalidArgument, with the line, if there is none or it is already set.
  void fill(std::vector<int>& list, size_t place, int buffer, const std::string& what) {
    const std::string name = reader_.name_of(reader_.at(buffer).value);
    if (place == list.size()) reader_.fail("unknown " + what, name, fmt::format("one of graph {}", graph_.name));
    if (list[place] >= 0) reader_.fail("given twice", name, "it once");
    list[place] = buffer;
  }

  void read_input() {
    const int buffer = reader_.buffer();
    const size_t place = place_of(inputs_, reader_.at(buffer).value, graph_.inputs.size());
    fill(schedule_.inputs, place, buffer, "input");
  }

  void read_state() {
    const int buffer = reader_.buffer();
    const size_t place = place_of(states_, reader_.at(buffer).value, graph_.states.size());
    fill(schedule_.entry, place, buffer, "state");
    const ValueId exit = graph_.states[place].exit;
    const bool stored = reader_.take("store");
    const auto words = [&](bool store) { return store ? "a store" : "no store"; };
    if (stored != (exit >= 0)) {
      reader_.fail("wrong end of " + reader_.name_of(reader_.at(buffer).value), words(stored), words(!stored));
    }
    if (!stored) return;
    schedule_.exit[place] = reader_.buffer();
    reader_.expect_value(schedule_.exit[place], exit, "wrong stored value");
  }

  void read_output() {
    const std::string name = reader_.word();
    reader_.expect("=");
    const int buffer = reader_.buffer();
    const size_t place = place_of(outputs_, name, graph_.outputs.size());
    fill(schedule_.outputs, place, buffer, "output " + name);
    reader_.expect_value(buffer, graph_.outputs[place].value, "wrong value of output " + name);
  }

  template <class Name>
  void read_name(Name& name) {
    const std::string word = reader_.word();
    reader_.with_line([&] { from_text(word, name); });
  }

  void read_bucket() {
    const int64_t index = reader_.number();
    const auto next = static_cast<int64_t>(schedule_.buckets.size());
    if (index != next) reader_.fail("wrong number of a bucket", fmt::format("{}", index), fmt::format("{}", next));
    Bucket bucket;
    read_name(bucket.reduce);
    read_name(bucket.dtype);
    if (reader_.take("as")) read_name(bucket.wire.emplace());
    reader_.expect("over");
    const std::string axes = fmt::format("{}}}", reader_.until("}"));
    bucket.axes = reader_.with_line([&] { return parse_axes(axes, reader_.local.mesh); });
    reader_.expect("bytes=");
    bucket.bytes = reader_.number();
    reader_.expect("@");
    bucket.offset = reader_.number();
    reader_.expect("of");
    do read_member(bucket);
    while (!reader_.rest().empty());
    schedule_.buckets.push_back(std::move(bucket));
  }

  void read_member(Bucket& bucket) {
    const NodeId id = reader_.node();
    const Node& node = graph_.nodes[id];
    reader_.expect("=");
    const int buffer = reader_.buffer();
    if (!performs(node, Collective::all_reduce))
      reader_.fail("a node that no bucket can hold", node.name, "an all_reduce");
    if (bucket_of_[id] >= 0) reader_.fail("a node in two buckets", node.name, "one bucket");
    bucket_of_[id] = static_cast<int>(schedule_.buckets.size());
    reader_.expect_value(buffer, node.inputs[0], "wrong operand of " + node.name);
    if (bucket.reduce != node.attrs.as<CollectiveAttrs>().reduce || bucket.axes != axes_of(node, reader_.local.mesh) ||
        bucket.dtype != graph_.type(node.inputs[0]).dtype || bucket.wire != node.attrs.as<CollectiveAttrs>().wire) {
      reader_.fail("bucket and node differ", node.name, "one reduction, element type, type on the wire and axes");
    }
    bucket.nodes.push_back(id);
    bucket.buffers.push_back(buffer);
  }

  void read_message(Instruction::Kind kind) {
    if (kind == Instruction::wait && !reader_.take("bucket")) return read_wait();
    if (kind != Instruction::wait) reader_.expect("bucket");
    const int64_t index = reader_.number();
    if (index >= static_cast<int64_t>(schedule_.buckets.size())) {
      reader_.fail("unknown bucket", fmt::format("{}", index), "a bucket of a line above");
    }
    const auto bucket = static_cast<int>(index);
    const bool last = kind != Instruction::wait && reader_.take("last");
    schedule_.instructions.push_back(
        {.kind = kind, .node = schedule_.buckets[bucket].nodes.front(), .bucket = bucket, .last = last});
  }

  /// Reads "wait NODE", for a collective that an earlier line started. Throws InvalidArgument, with the line, for an
  /// unknown node and if no line started it.
  void read_wait() {
    const NodeId node = reader_.node();
    const auto start =
        std::find_if(schedule_.instructions.begin(), schedule_.instructions.end(), [&](const Instruction& instruction) {
          return instruction.node == node && instruction.kind == Instruction::start && instruction.bucket < 0;
        });
    if (start == schedule_.instructions.end()) {
      reader_.fail("a wait for what was not started", graph_.nodes[node].name, "a start of it above");
    }
    schedule_.instructions.push_back(
        {.kind = Instruction::wait, .node = node, .inputs = {start->inputs[0], start->outputs[0]}});
  }

  void check_complete() const {
    const auto check = [](bool there, const std::string& line) {
      if (!there) throw InvalidArgument(fmt::format("[schedule] a line is missing, got none, expected '{}'", line));
    };
    check(has_graph_, "graph " + graph_.name);
    check(has_arena_, "arena ...");
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      check(schedule_.inputs[i] >= 0, "input " + reader_.name_of(graph_.inputs[i].value));
    }
    for (size_t s = 0; s < graph_.states.size(); ++s) {
      check(schedule_.entry[s] >= 0, "state " + reader_.name_of(graph_.states[s].entry));
    }
    for (size_t k = 0; k < graph_.outputs.size(); ++k) {
      check(schedule_.outputs[k] >= 0, fmt::format("output {} = ...", graph_.outputs[k].name));
    }
    const SectionSet marked = marked_sections(reader_.local);
    for (const Section section : kSections) {
      const bool seen = has_section_[static_cast<size_t>(section)], wanted = marked[static_cast<size_t>(section)];
      check(seen || !wanted, std::string(name_of(section)));
      if (!seen || wanted) continue;
      throw InvalidArgument(fmt::format(
          "[schedule] the graph does not have this section, got '{}', expected none: it has {}", name_of(section),
          section < Section::micro                        ? "no prologue"
          : is_micro(section) && reader_.local.is_stage() ? "no such part of a micro-batch"
          : reader_.local.mesh.micro_axis() >= 0          ? "no stages"
                                                          : "no micro-batches"));
    }
  }

  /// Makes a section without a line begin where the next one begins.
  void fill_sections() {
    for (size_t section = schedule_.begins.size() - 1; section-- > 1;) {
      if (!has_section_[section]) schedule_.begins[section] = schedule_.begins[section + 1];
    }
  }

  ScheduleReader reader_;
  const Graph& graph_;
  Schedule& schedule_ = reader_.schedule;
  std::unordered_map<ValueId, size_t> inputs_, states_;  // index by value
  std::unordered_map<std::string, size_t> outputs_;      // index by name
  std::vector<int> bucket_of_;                           // per node
  bool has_graph_ = false, has_arena_ = false;
  std::array<bool, kSections.size()> has_section_{};
};

}  // namespace

Schedule parse_schedule(std::string_view text, const LocalGraph& local) {
  Schedule schedule = Parser(text, local).run();
  require_consistent("schedule", [&] { verify(schedule, local); });
  return schedule;
}

void verify(const Schedule& schedule, const LocalGraph& local, const KernelCatalog& catalog) {
  for (const Buffer& buffer : schedule.buffers) {
    const std::string where = "%" + local.graph.values[buffer.value].name + ":" + buffer.format.tag;
    int64_t bytes = 0;
    try {
      bytes = catalog.bytes(local.largest(buffer.value), buffer.format);
    } catch (const Error& error) {
      throw InvalidArgument(
          fmt::format("[schedule] the device has no such memory format, got '{}', expected one of its own: {}", where,
                      error.what()));
    }
    if (buffer.bytes == bytes && buffer.format.bytes == (buffer.format.plain() ? 0 : bytes)) continue;
    throw InvalidArgument(fmt::format("[schedule] buffer {} is made for another device, got {}/{} bytes, expected {}",
                                      where, buffer.bytes, buffer.format.bytes, bytes));
  }
}

}  // namespace partita

#include "support/texts/schedule_reader.h"

namespace partita {

ScheduleReader::ScheduleReader(std::string_view text, const LocalGraph& local_graph)
    : Scanner("schedule", text), local(local_graph) {
  for (size_t v = 0; v < graph().values.size(); ++v) values_.emplace(graph().values[v].name, static_cast<ValueId>(v));
  for (size_t n = 0; n < graph().nodes.size(); ++n) nodes_.emplace(graph().nodes[n].name, static_cast<NodeId>(n));
  for (const State& state : graph().states) exits_.emplace(state.entry, state.exit);
}

bool ScheduleReader::stores(ValueId entry, ValueId exit) const {
  const auto found = exits_.find(entry);
  return found != exits_.end() && found->second == exit;
}

ScheduleReader::Place ScheduleReader::place() {
  expect("%");
  Place result{.value = word()};
  if (take(":")) result.format.tag = word();
  result.text = "%" + result.value + (result.format.plain() ? "" : ":" + result.format.tag);
  if (take("#")) result.text += fmt::format("#{}", number());
  return result;
}

void ScheduleReader::add_buffer() {
  const Place named = place();
  const auto value = values_.find(named.value);
  if (value == values_.end()) fail("unknown value", "%" + named.value, "a value of graph " + graph().name);
  Buffer buffer{.value = value->second, .format = named.format};
  if (buffer.format.any()) fail("no memory format of a buffer", "any", "plain or a name that the device gave");
  expect("bytes=");
  buffer.bytes = number();
  if (!buffer.format.plain()) buffer.format.bytes = buffer.bytes;
  if (take("/")) buffer.format.bytes = number();
  expect("@");
  buffer.offset = number();
  if (take("copies=")) buffer.copies = number(2, kMaxMicroBatches);
  if (buffer.bytes > kMaxNumber / buffer.copies - kAlignment) {
    fail("buffer too large", fmt::format("{} times {} bytes", buffer.copies, buffer.bytes), "2^60 bytes at most");
  }
  if (take("view=")) buffer.view_of = this->buffer();
  if (!buffers_.emplace(named.text, static_cast<int>(schedule.buffers.size())).second) {
    fail("buffer defined twice", named.text, "one definition");
  }
  schedule.buffers.push_back(std::move(buffer));
}

int ScheduleReader::buffer() {
  const std::string text = place().text;
  const auto found = buffers_.find(text);
  if (found == buffers_.end()) fail("unknown buffer", text, "a buffer of a line above");
  return found->second;
}

NodeId ScheduleReader::node() {
  const std::string name = word();
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) fail("unknown node", name, "a node of graph " + graph().name);
  return found->second;
}

void ScheduleReader::expect_value(int buffer, ValueId value, std::string_view what) const {
  if (at(buffer).value != value) fail(what, name_of(at(buffer).value), name_of(value));
}

}  // namespace partita

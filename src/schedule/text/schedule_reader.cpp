#include "schedule/text/schedule_reader.h"

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
  if (take(":")) result.layout.tag = word();
  result.text = "%" + result.value + (result.layout.plain() ? "" : ":" + result.layout.tag);
  if (take("#")) result.text += fmt::format("#{}", number());
  return result;
}

void ScheduleReader::add_slot() {
  const Place named = place();
  const auto value = values_.find(named.value);
  if (value == values_.end()) fail("unknown value", "%" + named.value, "a value of graph " + graph().name);
  Slot slot{.value = value->second, .layout = named.layout};
  if (slot.layout.any()) fail("no layout of a slot", "any", "plain or a name that the device gave");
  expect("bytes=");
  slot.bytes = number();
  if (!slot.layout.plain()) slot.layout.bytes = slot.bytes;
  if (take("/")) slot.layout.bytes = number();
  expect("@");
  slot.offset = number();
  if (take("view=")) slot.view_of = this->slot();
  if (!slots_.emplace(named.text, static_cast<int>(schedule.slots.size())).second) {
    fail("slot defined twice", named.text, "one definition");
  }
  schedule.slots.push_back(std::move(slot));
}

int ScheduleReader::slot() {
  const std::string text = place().text;
  const auto found = slots_.find(text);
  if (found == slots_.end()) fail("unknown slot", text, "a slot of a line above");
  return found->second;
}

NodeId ScheduleReader::node() {
  const std::string name = word();
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) fail("unknown node", name, "a node of graph " + graph().name);
  return found->second;
}

void ScheduleReader::expect_value(int slot, ValueId value, std::string_view what) const {
  if (at(slot).value != value) fail(what, name_of(at(slot).value), name_of(value));
}

void ScheduleReader::once(bool& seen, std::string_view name) const {
  if (seen) fail("given twice", name, "it once");
  seen = true;
}

}  // namespace partita

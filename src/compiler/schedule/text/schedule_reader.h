#pragma once
// What all lines of a schedule's text name: values and nodes of the local graph, and buffers.

#include <unordered_map>

#include "base/scanner.h"
#include "compiler/schedule/schedule.h"

namespace partita {

class ScheduleReader : public Scanner {
 public:
  ScheduleReader(std::string_view text, const LocalGraph& local);

  /// Reads "buffer %value:tag#2 bytes=B/L @OFFSET view=%other", behind the keyword.
  void add_buffer();
  /// Reads the name of a buffer that a line above defined.
  int buffer();
  /// Reads the name of a node of the graph.
  NodeId node();
  /// Fails with `what` when the buffer holds another value.
  void expect_value(int buffer, ValueId value, std::string_view what) const;

  /// Whether the graph stores the value in a state.
  bool stores(ValueId entry, ValueId exit) const;

  const Graph& graph() const { return local.graph; }
  const Buffer& at(int buffer) const { return schedule.buffers[buffer]; }
  std::string name_of(ValueId value) const { return "%" + local.graph.values[value].name; }

  const LocalGraph& local;
  Schedule schedule;

 private:
  struct Place {
    std::string value;
    MemoryFormat format;
    std::string text;  // "%value:tag#2", as print writes it
  };
  Place place();

  std::unordered_map<std::string, ValueId> values_;
  std::unordered_map<std::string, NodeId> nodes_;
  std::unordered_map<std::string, int> buffers_;
  std::unordered_map<ValueId, ValueId> exits_;  // of states, by the value at entry
};

/// Reads "%out = kernel(%in) ; node", "reorder", "copy" or a collective.
Instruction parse_instruction(ScheduleReader& reader);

}  // namespace partita

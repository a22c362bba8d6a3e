#pragma once
// Reads the names in a schedule's text: values and nodes of the local graph, and buffers.

#include <unordered_map>

#include "base/scanner.h"
#include "compiler/schedule/schedule.h"

namespace partita {

class ScheduleReader : public Scanner {
 public:
  ScheduleReader(std::string_view text, const LocalGraph& local);

  /// Reads "%value:tag#2 bytes=B/L @OFFSET copies=N view=%other", after the keyword "buffer", and adds the buffer. B is
  /// the size of the buffer and L, if it differs, that of its memory format. `:tag`, `#2`, `/L`, `copies` and `view`
  /// are optional. Throws InvalidArgument with the line for other texts, an unknown value or view, a buffer that is
  /// defined twice, and one whose copies together have more than 2^60 bytes.
  void add_buffer();
  /// Reads the name of a buffer that an earlier line defined. Returns its index. Throws InvalidArgument for another
  /// name.
  int buffer();
  /// Reads the name of a node of the graph. Returns its index. Throws InvalidArgument for another name.
  NodeId node();
  /// Checks that the buffer holds `value`. Throws InvalidArgument, with the line and `what` as what is wrong,
  /// otherwise.
  void expect_value(int buffer, ValueId value, std::string_view what) const;

  /// Whether a state with entry value `entry` stores `exit`.
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
    std::string text;  // "%value:tag#2", as `print` writes it
  };
  Place place();

  std::unordered_map<std::string, ValueId> values_;
  std::unordered_map<std::string, NodeId> nodes_;
  std::unordered_map<std::string, int> buffers_;
  std::unordered_map<ValueId, ValueId> exits_;  // exit value of each state, by entry value
};

/// Reads "%out = kernel(%in) ; node", a reorder, copy or load, an accumulate, or a collective or its start. Throws
/// InvalidArgument, with the line, for other texts and for values that the node or the kind does not have.
Instruction parse_instruction(ScheduleReader& reader);

}  // namespace partita

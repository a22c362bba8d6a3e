#include "compiler/partition/collectives.h"
#include "compiler/schedule/fold_casts.h"
#include "support/texts/schedule_reader.h"

namespace partita {
namespace {

/// Checks that the buffers hold the operands or results of a node, or values that stand for them: `stands_for` takes
/// the graph, the value of a buffer and that of the node. Throws InvalidArgument, with the line, otherwise.
void expect_values(ScheduleReader& reader, const std::vector<int>& buffers, const std::vector<ValueId>& values,
                   std::string_view what, const std::string& node, bool (*stands_for)(const Graph&, ValueId, ValueId)) {
  if (buffers.size() != values.size()) {
    reader.fail(fmt::format("wrong number of {}s of {}", what, node), fmt::format("{}", buffers.size()),
                fmt::format("{}", values.size()));
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (stands_for(reader.graph(), reader.at(buffers[i]).value, values[i])) continue;
    reader.expect_value(buffers[i], values[i], fmt::format("wrong {} of {}", what, node));
  }
}

/// Checks that the instruction takes and makes the values of its node or, if it may fold, what stands for them. Throws
/// InvalidArgument, with the line, otherwise.
void expect_node_values(ScheduleReader& reader, const Instruction& instruction, const Node& node, bool may_fold) {
  const auto is_same = [](const Graph&, ValueId given, ValueId value) { return given == value; };
  expect_values(reader, instruction.inputs, node.inputs, "operand", node.name, may_fold ? stands_for_operand : is_same);
  expect_values(reader, instruction.outputs, node.outputs, "result", node.name, may_fold ? stands_for_result : is_same);
}

void expect_one_each(ScheduleReader& reader, const Instruction& instruction, std::string_view name) {
  if (instruction.inputs.size() == 1 && instruction.outputs.size() == 1) return;
  reader.fail(fmt::format("wrong number of operands of a {}", name),
              fmt::format("{} = {}", instruction.outputs.size(), instruction.inputs.size()), "1 = 1");
}

void check_reorder(ScheduleReader& reader, const Instruction& instruction) {
  expect_one_each(reader, instruction, "reorder");
  const int from = instruction.inputs[0], to = instruction.outputs[0];
  reader.expect_value(to, reader.at(from).value, "a reorder makes another value");
  if (from == to) reader.fail("a reorder into itself", reader.name_of(reader.at(to).value), "another memory format");
}

/// Checks a copy. One with a node makes what could be a view. One without stores a state or keeps its old value. Throws
/// InvalidArgument, with the line, otherwise.
void check_copy(ScheduleReader& reader, const Instruction& instruction) {
  expect_one_each(reader, instruction, "copy");
  const ValueId from = reader.at(instruction.inputs[0]).value, to = reader.at(instruction.outputs[0]).value;
  if (instruction.node >= 0) {
    const Node& node = reader.graph().nodes[instruction.node];
    if (node.inputs.empty()) reader.fail("node cannot be a copy", node.name, "one with an operand");
    reader.expect_value(instruction.inputs[0], node.inputs[0], "wrong operand of " + node.name);
    reader.expect_value(instruction.outputs[0], node.outputs[0], "wrong result of " + node.name);
    return;
  }
  const bool keeps = from == to && instruction.inputs != instruction.outputs;
  if (!reader.stores(to, from) && !keeps)
    reader.fail("a copy to another value", reader.name_of(from), "what a state stores");
}

void check_load(ScheduleReader& reader, const Instruction& instruction) {
  expect_one_each(reader, instruction, "load");
  const Buffer &from = reader.at(instruction.inputs[0]), &to = reader.at(instruction.outputs[0]);
  reader.expect_value(instruction.outputs[0], from.value, "a load makes another value");
  if (from.copies == 1 || (to.copies > 1 && !reader.local.is_stage())) {
    reader.fail("a load of what has no copies", reader.name_of(from.value),
                "an input with a copy for each micro-batch");
  }
}

void check_accumulate(ScheduleReader& reader, const Node& node) {
  if (!performs(node, Collective::accumulate)) reader.fail("a node that adds nothing up", node.name, "an accumulate");
}

}  // namespace

Instruction parse_instruction(ScheduleReader& reader) {
  Instruction instruction;
  do instruction.outputs.push_back(reader.buffer());
  while (reader.take(","));
  reader.expect("=");
  std::string name = reader.word();
  const bool accumulate = name == "accumulate";
  const bool start = name == "start";
  if (accumulate || start) name = reader.word();
  const bool last = start && name == "last";
  if (last) name = reader.word();
  reader.expect("(");
  if (!reader.take(")")) {
    do instruction.inputs.push_back(reader.buffer());
    while (reader.take(","));
    reader.expect(")");
  }
  const int64_t scratch = reader.take("scratch=") ? reader.number() : 0;
  if (reader.take(";")) instruction.node = reader.node();
  const bool reorder = name == "reorder", copy = name == "copy", load = name == "load";
  if (scratch > 0 && (reorder || copy || load)) reader.fail("scratch of a " + name, fmt::format("{}", scratch), "none");
  if (load) {
    instruction.kind = Instruction::load;
    check_load(reader, instruction);
    return instruction;
  }
  if (reorder || copy) {
    instruction.kind = reorder ? Instruction::reorder : Instruction::copy;
    reorder ? check_reorder(reader, instruction) : check_copy(reader, instruction);
    return instruction;
  }
  if (instruction.node < 0) reader.fail("an instruction without its node", name, "'; NODE' after it");
  const Node& node = reader.graph().nodes[instruction.node];
  expect_node_values(reader, instruction, node, !accumulate && !start && !is_collective(node));
  if (accumulate) {
    instruction.kind = Instruction::accumulate;
    check_accumulate(reader, node);
    const MemoryFormat &from = reader.at(instruction.inputs[0]).format, &sum = reader.at(instruction.outputs[0]).format;
    instruction.choice = {.kernel = name, .inputs = {sum, from}, .outputs = {sum}, .scratch_bytes = scratch};
    return instruction;
  }
  if (start && !performs(node, Collective::all_gather) && !performs(node, Collective::reduce_scatter)) {
    reader.fail("a node that is not started by itself", node.name, "an all_gather or reduce_scatter");
  }
  if (is_collective(node)) {
    if (name != node.op) reader.fail("wrong collective of " + node.name, name, node.op);
    instruction.kind = start ? Instruction::start : Instruction::collective;
    instruction.last = last;
    instruction.choice.scratch_bytes = scratch;
    return instruction;
  }
  KernelChoice& choice = instruction.choice;
  choice.kernel = name;
  choice.scratch_bytes = scratch;
  for (int buffer : instruction.inputs) choice.inputs.push_back(reader.at(buffer).format);
  for (int buffer : instruction.outputs) choice.outputs.push_back(reader.at(buffer).format);
  return instruction;
}

}  // namespace partita

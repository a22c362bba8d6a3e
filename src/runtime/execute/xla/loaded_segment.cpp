#include "runtime/execute/xla/loaded_segment.h"

#include <algorithm>

#include "base/free_memory.h"
#include "runtime/execute/xla/with_place.h"

namespace partita {
namespace {

/// Says what a program takes; "" if the plugin does not know.
std::string memory_text(const pjrt::Executable& program) {
  try {
    const pjrt::MemoryUse use = program.memory();
    return fmt::format(", which takes {} of arguments, {} of results, {} of them in place, and {} of temporaries",
                       print_bytes(use.arguments), print_bytes(use.outputs), print_bytes(use.aliased),
                       print_bytes(use.temporaries));
  } catch (const Error&) {
    return "";
  }
}

}  // namespace

std::string nodes_of(const Segmenter& segmenter, const Segment& segment) {
  const Schedule& schedule = segmenter.schedule();
  const Graph& graph = segmenter.local().graph;
  const auto text_of = [&](size_t i) {
    const Instruction& instruction = schedule.instructions[i];
    if (instruction.node < 0) return graph.values[schedule.buffers[instruction.outputs[0]].value].name;
    const Node& node = graph.nodes[instruction.node];
    return fmt::format("{} ({}{})", node.name, node.op, node.scope.empty() ? "" : " in " + node.scope);
  };
  const std::string first = text_of(segment.begin);
  return segment.end == segment.begin + 1 ? first : fmt::format("{} to {}", first, text_of(segment.end - 1));
}

std::string description_of(const Segmenter& segmenter, const LoadedSegment& loaded, const Error& error,
                           const std::string& owner) {
  const bool lacks_memory = error.code() == ExitCode::out_of_memory && !loaded.programs.empty();
  return "in the program of " + nodes_of(segmenter, loaded.segment) +
         (lacks_memory ? memory_text(*loaded.programs[0]) : "") + owner;
}

LoadedSegment load_segment(const Segmenter& segmenter, Segment segment, int64_t rank, const std::string& owner,
                           const CompileText& compile) {
  if (segment.outputs.empty()) return {.segment = std::move(segment)};  // nothing but waits
  const std::vector<std::string> texts = segmenter.modules_of(segment, rank);
  LoadedSegment loaded{.segment = std::move(segment)};
  const auto &inputs = loaded.segment.inputs, &outputs = loaded.segment.outputs;
  for (const int entry : segmenter.schedule().entry) {
    const int place = segmenter.places()[static_cast<size_t>(entry)];
    if (std::ranges::find(outputs, place) != outputs.end()) loaded.writes_states = true;
  }
  for (const int place : outputs) {
    if (std::ranges::find(inputs, place) == inputs.end()) loaded.replaced.push_back(place);
  }
  with_place([&](const Error& error) { return description_of(segmenter, loaded, error, owner); },
             [&] {
               for (const std::string& text : texts) loaded.programs.push_back(compile(text));
             });
  return loaded;
}

}  // namespace partita

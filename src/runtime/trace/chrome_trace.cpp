#include "runtime/trace/chrome_trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "compiler/partition/collectives.h"
#include "compiler/partition/exchange.h"

namespace partita {
namespace {

/// Returns `text` as a JSON string, quotes included. What is not UTF-8 becomes U+FFFD.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string text_argument(std::string_view key, const std::string& text) {
  return text.empty() ? "" : fmt::format(",\"{}\":{}", key, quoted(text));
}

std::string value_name(const LocalGraph& local, ValueId value) { return "%" + local.graph.values[value].name; }

double microseconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-3; }

}  // namespace

ChromeTrace::ChromeTrace(const Program& program, std::ostream& out) : program_(program), out_(out) {
  out_ << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
}

void ChromeTrace::finish() { out_ << "\n]}\n" << std::flush; }

void ChromeTrace::write(const std::string& event) {
  out_ << (is_first_ ? "\n" : ",\n") << event;
  is_first_ = false;
}

void ChromeTrace::add(const RankTrace& rank) {
  add_names(rank);
  for (const Span& span : rank.spans) {
    const Event event = event_of(span, rank.rank);
    const int64_t begin = aligned_time(span.begin, rank.first, rank.last),
                  end = std::max(begin, aligned_time(span.end, rank.first, rank.last));
    write(
        fmt::format("{{\"name\":{},\"cat\":\"{}\",\"ph\":\"X\",\"ts\":{:.3f},\"dur\":{:.3f},\"pid\":{},\"tid\":{},"
                    "\"args\":{{\"step\":{}{}}}}}",
                    quoted(event.name), event.category, microseconds(begin), microseconds(end - begin),
                    process_of(rank), span.thread, span.step, event.arguments));
  }
}

int ChromeTrace::process_of(const RankTrace& rank) const {
  return rank.rank + (rank.is_predicted ? static_cast<int>(program_.pipeline.ranks()) : 0);
}

void ChromeTrace::add_names(const RankTrace& rank) {
  const auto metadata = [&](std::string_view kind, int thread, const std::string& arguments) {
    write(fmt::format("{{\"name\":\"{}\",\"ph\":\"M\",\"ts\":0,\"pid\":{},\"tid\":{},\"args\":{{{}}}}}", kind,
                      process_of(rank), thread, arguments));
  };
  metadata("process_name", 0, fmt::format("\"name\":\"rank {}{}\"", rank.rank, rank.is_predicted ? " predicted" : ""));
  metadata("process_sort_index", 0, fmt::format("\"sort_index\":{}", 2 * rank.rank + rank.is_predicted));
  metadata("process_labels", 0,
           fmt::format("\"labels\":\"clock within {:.1f} us{}\",\"clock_error\":{:.3f}",
                       microseconds(std::max(rank.first.error, rank.last.error)),
                       rank.lost == 0 ? "" : fmt::format(", {} spans had no room", rank.lost),
                       microseconds(std::max(rank.first.error, rank.last.error))));
  metadata("thread_name", 0, "\"name\":\"compute\"");
  int thread = 0;
  const auto is_used = [&](int number) {
    return std::ranges::any_of(rank.spans, [&](const Span& span) { return span.thread == number; });
  };
  for (size_t stage = 0; stage < program_.stages.size(); ++stage) {
    if (!program_.pipeline.group_of(static_cast<int>(stage)).contains(rank.rank)) continue;
    if (!is_used(++thread)) continue;
    const std::string of = program_.stages.size() == 1 ? "" : fmt::format(" of stage {}", stage);
    metadata("thread_name", thread, fmt::format("\"name\":\"communication{}\"", of));
  }
  if (is_used(++thread)) metadata("thread_name", thread, "\"name\":\"device\"");
}

ChromeTrace::Event ChromeTrace::event_of(const Span& span, int rank) const {
  switch (span.kind) {
    case Span::whole_step: return {fmt::format("step {}", span.step), "step", ""};
    case Span::rows: return {"wait for rows", "input", ""};
    case Span::feed: return {"feed", "input", ""};
    case Span::section: return section(span);
    case Span::instruction: return span.last < 0 ? instruction(span, rank) : program(span);
    case Span::send:
    case Span::receive: return transfer(span);
    case Span::verdict:
      return {"verdict", "collective", fmt::format(",\"op\":\"all_gather\",\"collective\":\"verdict {}\"", span.step)};
    case Span::check: return {"check the loss", "verdict", ""};
    case Span::agreement: return {"agreement", "collective", ",\"op\":\"broadcast\""};
    case Span::device: return {"wait for the device", "wait", ""};
    case Span::program: return program(span);
  }
  return {};
}

ChromeTrace::Event ChromeTrace::section(const Span& span) const {
  const auto section = static_cast<Section>(span.index);
  const LocalGraph& local = stage_of(span).local;
  const int stages = static_cast<int>(program_.stages.size());
  std::string name(name_of(section));
  if (section == Section::prologue) name = fmt::format("prologue {}", span.micro_batch);
  if (is_micro(section)) {
    name = local.is_stage() ? short_name({span.stage, stage_section(section), span.micro_batch},
                                         program_.pipeline.shape.group_count() < stages)
                            : fmt::format("micro-batch {}", span.micro_batch);
  }
  return {name, "section",
          fmt::format(",\"section\":\"{}\",\"stage\":{},\"micro_batch\":{}", name_of(section), span.stage,
                      span.micro_batch)};
}

/// Returns a text that identifies a collective over `axes`, that of span `span` of rank `rank`: the same text on all
/// ranks that take part in it.
std::string ChromeTrace::collective(const Span& span, int rank, const Axes& axes) const {
  const Mesh& mesh = stage_of(span).local.mesh;
  const int first = program_.pipeline.group_of(span.stage).first;
  return fmt::format("{} {} {} {} {}", span.step, span.stage, span.index, span.micro_batch,
                     first + mesh.member(rank - first, axes, 0));
}

ChromeTrace::Event ChromeTrace::instruction(const Span& span, int rank) const {
  const LocalGraph& local = stage_of(span).local;
  const Schedule& schedule = stage_of(span).schedule;
  const Instruction& instruction = schedule.instructions[static_cast<size_t>(span.index)];
  const Node* node = instruction.node < 0 ? nullptr : &local.graph.nodes[instruction.node];
  Event event{.category = "compute"};
  event.arguments = fmt::format(",\"stage\":{},\"micro_batch\":{}", span.stage, span.micro_batch);
  if (node != nullptr) {
    event.name = node->name;
    event.arguments += text_argument("op", node->op) + text_argument("layer", node->scope) +
                       text_argument("phase", std::string(name_of(node->phase)));
    if (!node->source.file.empty())
      event.arguments += text_argument("source", fmt::format("{}:{}", node->source.file, node->source.line));
  }
  const auto communicates = [&](const Axes& axes, int64_t bytes) {
    event.category = "collective";
    event.arguments += fmt::format(",\"bytes\":{},\"axes\":{},\"collective\":\"{}\"", bytes,
                                   quoted(local.mesh.print(axes)), collective(span, rank, axes));
  };
  switch (instruction.kind) {
    case Instruction::compute: event.arguments += text_argument("kernel", instruction.choice.kernel); break;
    case Instruction::collective:
      if (is_local(*collective_of(*node))) break;
      event.name = node->op + " " + event.name;
      communicates(axes_of(*node, local.mesh), max_wire_bytes(local, *node));
      break;
    case Instruction::reduce:
    case Instruction::start: {
      if (instruction.is_single_message()) {
        event.name = fmt::format("{} {}", span.thread == 0 ? "start" : node->op, node->name);
        if (span.thread != 0) communicates(axes_of(*node, local.mesh), max_wire_bytes(local, *node));
        break;
      }
      const Bucket& bucket = schedule.buckets[static_cast<size_t>(instruction.bucket)];
      if (instruction.kind == Instruction::start && span.thread == 0) {
        event.name = fmt::format("start bucket {}", instruction.bucket);
        break;
      }
      event.name = fmt::format("all_reduce bucket {}", instruction.bucket);
      if (node == nullptr) event.arguments += ",\"op\":\"all_reduce\"";
      communicates(bucket.axes, wire_bytes(bucket.bytes, bucket.dtype, bucket.wire));
      break;
    }
    case Instruction::wait:
      event.name = instruction.bucket < 0 ? fmt::format("wait for {}", node->name)
                                          : fmt::format("wait for bucket {}", instruction.bucket);
      event.category = "wait";
      break;
    default: {  // copies within the rank
      constexpr const char* kKinds[] = {"compute", "reorder", "copy", "load", "accumulate"};
      const int buffer = instruction.outputs.at(0);
      event.name = fmt::format("{} {}", kKinds[instruction.kind], value_name(local, schedule.buffers[buffer].value));
    }
  }
  return event;
}

/// The name of an instruction's node, or of the value that it copies.
std::string ChromeTrace::name_in(const StageProgram& stage, int32_t instruction) const {
  const Graph& graph = stage.local.graph;
  const Instruction& one = stage.schedule.instructions[static_cast<size_t>(instruction)];
  if (one.node >= 0) return graph.nodes[one.node].name;
  const std::vector<int>& buffers =
      one.bucket >= 0 ? stage.schedule.buckets[static_cast<size_t>(one.bucket)].buffers : one.outputs;
  return value_name(stage.local, stage.schedule.buffers[buffers.at(0)].value);
}

/// A program of an accelerator, or its start. It has the names of its first and its last instruction.
ChromeTrace::Event ChromeTrace::program(const Span& span) const {
  const StageProgram& stage = stage_of(span);
  const std::string first = name_in(stage, span.index), last = name_in(stage, span.last);
  const bool is_start = span.kind == Span::instruction;
  return {(is_start ? "start " : "") + (span.index == span.last ? first : fmt::format("{} to {}", first, last)),
          is_start ? "start" : "program",
          fmt::format(",\"stage\":{},\"micro_batch\":{},\"instructions\":{},\"section\":\"{}\"", span.stage,
                      span.micro_batch, span.last - span.index + 1,
                      name_of(stage.schedule.section_of(static_cast<size_t>(span.index))))};
}

ChromeTrace::Event ChromeTrace::transfer(const Span& span) const {
  const Transfer& transfer = program_.pipeline.transfers[static_cast<size_t>(span.index)];
  const LocalGraph& to = program_.stages[static_cast<size_t>(transfer.to_stage)].local;
  const ValueId value = to.graph.inputs[transfer.input].value;
  const bool sends = span.kind == Span::send;
  return {fmt::format("{} {} {} stage {}", sends ? "send" : "receive", value_name(to, value), sends ? "to" : "from",
                      sends ? transfer.to_stage : transfer.from_stage),
          "transfer",
          fmt::format(",\"stage\":{},\"micro_batch\":{},\"bytes\":{},\"transfer\":\"{} {} {}\"", span.stage,
                      span.micro_batch, to.largest(value).bytes(), span.step, span.index, span.micro_batch)};
}

}  // namespace partita

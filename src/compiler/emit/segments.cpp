#include "compiler/emit/segments.h"

#include <algorithm>
#include <map>

#include "compiler/emit/emit_node.h"
#include "compiler/emit/recompute_barriers.h"
#include "compiler/partition/collectives.h"

namespace partita {
namespace {

/// Places that an instruction reads. A sum over micro-batches reads itself; a message of a bucket reads its buffers.
std::vector<int> reads_of(const Instruction& instruction, const Schedule& schedule, const std::vector<int>& places) {
  std::vector<int> read;
  for (const int buffer : instruction.inputs) read.push_back(places[buffer]);
  if (instruction.kind == Instruction::accumulate) read.push_back(places[instruction.outputs[0]]);
  if (instruction.bucket < 0) return read;
  for (const int buffer : schedule.buckets[instruction.bucket].buffers) read.push_back(places[buffer]);
  return read;
}

/// Finds what a segment takes and gives.
class Ends {
 public:
  explicit Ends(const Schedule& schedule)
      : schedule_(schedule), places_(places_of(schedule)), readers_(places_.size()), is_kept_(places_.size(), false) {
    for (size_t i = 0; i < schedule.instructions.size(); ++i) {
      for (const int place : reads_of(schedule.instructions[i], schedule, places_)) readers_[place].push_back(i);
    }
    for (const std::vector<int>* kept : {&schedule.entry, &schedule.outputs}) {
      for (const int buffer : *kept) is_kept_[places_[buffer]] = true;
    }
  }

  Segment segment(size_t begin, size_t end) const {
    Segment segment{.begin = begin, .end = end};
    std::vector<int> written;
    const auto add = [](std::vector<int>& list, int place) {
      if (std::find(list.begin(), list.end(), place) == list.end()) list.push_back(place);
    };
    for (size_t i = begin; i < end; ++i) {
      const Instruction& instruction = schedule_.instructions[i];
      segment.accumulates = segment.accumulates || instruction.kind == Instruction::accumulate;
      for (const int place : reads_of(instruction, schedule_, places_)) {
        if (std::find(written.begin(), written.end(), place) == written.end()) add(segment.inputs, place);
      }
      for (const int buffer : instruction.outputs) add(written, places_[buffer]);
    }
    for (const int place : written) {
      const bool is_read = std::any_of(readers_[place].begin(), readers_[place].end(),
                                       [&](size_t reader) { return reader < begin || reader >= end; });
      const bool is_input = std::find(segment.inputs.begin(), segment.inputs.end(), place) != segment.inputs.end();
      if (is_kept_[place] || is_read || is_input) segment.outputs.push_back(place);
    }
    return segment;
  }

 private:
  const Schedule& schedule_;
  const std::vector<int> places_;
  std::vector<std::vector<size_t>> readers_;  // per place: instructions
  std::vector<bool> is_kept_;                 // per place: a state or an output
};

/// Writes the instructions of a segment.
class Writer {
 public:
  Writer(const Segment& segment, const Schedule& schedule, const LocalGraph& local, const OpSet& ops,
         const std::vector<int64_t>& coordinates)
      : segment_(segment),
        schedule_(schedule),
        local_(local),
        ops_(ops),
        rules_(local.graph, ops),
        coordinates_(coordinates),
        places_(places_of(schedule)),
        barriers_(segment, schedule, local, places_) {}

  std::string module() {
    std::string parameters;
    for (size_t i = 0; i < segment_.inputs.size(); ++i) parameters += (i == 0 ? "" : ", ") + parameter(i);
    if (segment_.accumulates) parameters += (parameters.empty() ? "" : ", ") + std::string("%first: tensor<i1>");
    for (size_t i = segment_.begin; i < segment_.end; ++i) write(i);
    std::vector<Hlo> results;
    for (const int place : segment_.outputs) results.push_back(values_.at(place));
    return module_text("segment", parameters, results, body_);
  }

 private:
  Type type_of(int buffer) const { return local_.type(schedule_.buffers[buffer].value, coordinates_); }

  std::string parameter(size_t index) {
    const int place = segment_.inputs[index];
    const Hlo value{fmt::format("%arg{}", index), type_of(place)};
    values_[place] = value;
    const auto output = std::find(segment_.outputs.begin(), segment_.outputs.end(), place);
    const std::string donated = output == segment_.outputs.end() ? ""
                                                                 : fmt::format(" {{tf.aliasing_output = {} : i32}}",
                                                                               output - segment_.outputs.begin());
    return fmt::format("{}: {}{}", value.name, hlo_type(value.type), donated);
  }

  void write(size_t index) {
    const Instruction& instruction = schedule_.instructions[index];
    std::vector<Hlo> inputs;
    for (const int buffer : instruction.inputs) inputs.push_back(values_.at(places_[buffer]));
    const int first = instruction.outputs[0];
    if (instruction.kind == Instruction::copy) {
      values_[places_[first]] = inputs[0];
      return;
    }
    if (instruction.kind == Instruction::accumulate) {
      values_[places_[first]] = accumulated(instruction, inputs[0], values_.at(places_[first]));
      return;
    }
    inputs = barriers_.guarded(index, inputs, values_, body_);
    const Node& node = local_.graph.nodes[instruction.node];
    std::vector<Type> types;
    for (const int buffer : instruction.outputs) types.push_back(type_of(buffer));
    const Attrs attrs = local_.attrs(instruction.node, coordinates_, rules_);
    const std::vector<Hlo> results = emit_node(body_, ops_, ops_.at(node.op), attrs, inputs, types);
    barriers_.declare(index, results);
    for (size_t k = 0; k < results.size(); ++k) values_[places_[instruction.outputs[k]]] = results[k];
  }

  /// Returns the part of the first micro-batch as it is, and the sum with that of a later one.
  Hlo accumulated(const Instruction& instruction, const Hlo& part, const Hlo& sum) {
    const Reduce reduce = local_.graph.nodes[instruction.node].attrs.as<CollectiveAttrs>().reduce;
    const OpDef& op = ops_.at(accumulating_op(reduce));
    const Hlo joined = emit_node(body_, ops_, op, op.attrs, {sum, part}, {sum.type})[0];
    const Type flags{DType::boolean, sum.type.shape};
    const Hlo first = EmitCall{body_, op.attrs, {}, {}}.broadcast({"%first", {DType::boolean, {}}}, flags.shape);
    return EmitCall{body_, op.attrs, {}, {}}.select(first, part, joined);
  }

  const Segment& segment_;
  const Schedule& schedule_;
  const LocalGraph& local_;
  const OpSet& ops_;
  const Rules rules_;
  const std::vector<int64_t>& coordinates_;
  const std::vector<int> places_;
  RecomputeBarriers barriers_;
  HloBody body_;
  std::map<int, Hlo> values_;  // by place: the value that it has at this point
};

}  // namespace

std::vector<int> places_of(const Schedule& schedule) {
  std::vector<int> places = roots_of(schedule);
  for (size_t s = 0; s < schedule.entry.size(); ++s) {
    const int entry = schedule.entry[s], exit = schedule.exit[s];
    if (exit < 0 || exit == entry || places[exit] != exit) continue;
    if (schedule.buffers[exit].offset != schedule.buffers[entry].offset) continue;
    for (int& place : places) {
      if (place == exit) place = places[entry];
    }
  }
  return places;
}

bool in_program(const Instruction& instruction) {
  if (instruction.kind == Instruction::compute) return instruction.choice.kernel == kProgramKernel;
  return instruction.kind == Instruction::copy || instruction.kind == Instruction::accumulate;
}

std::vector<Segment> segments_of(const Schedule& schedule, const std::vector<size_t>& borders) {
  const Ends ends(schedule);
  std::vector<Segment> segments;
  const auto& list = schedule.instructions;
  std::vector<bool> is_border(list.size() + 1, false);
  for (const size_t border : borders) is_border[border] = true;
  for (size_t i = 0; i < list.size();) {
    if (!in_program(list[i])) {
      ++i;
      continue;
    }
    size_t end = i + 1;
    while (end < list.size() && in_program(list[end]) && !is_border[end]) ++end;
    segments.push_back(ends.segment(i, end));
    i = end;
  }
  return segments;
}

Segment segment_of(const Schedule& schedule, size_t instruction) {
  return Ends(schedule).segment(instruction, instruction + 1);
}

std::vector<size_t> borders_of(const Pipeline& pipeline, const std::vector<StageProgram>& stages, size_t stage) {
  const Schedule& schedule = stages[stage].schedule;
  std::vector<size_t> borders(schedule.begins.begin(), schedule.begins.end());
  for (const Run& run : timeline(pipeline, stages, pipeline.shape.groups[stage])) {
    if (run.stage != static_cast<int>(stage)) continue;
    borders.insert(borders.end(), {run.begin, run.end});
  }
  if (stages.size() == 1) return borders;
  const auto reads = transfers_read(pipeline, stages, static_cast<int>(stage));
  for (size_t i = 0; i < reads.size(); ++i) {
    if (!reads[i].empty()) borders.push_back(i);
  }
  const std::vector<SendPoint> points = send_points(pipeline, stages);
  for (size_t t = 0; t < points.size(); ++t) {
    if (points[t] && pipeline.transfers[t].from_stage == static_cast<int>(stage)) borders.push_back(*points[t] + 1);
  }
  return borders;
}

std::string module_of(const Segment& segment, const Schedule& schedule, const LocalGraph& local, const OpSet& ops,
                      const std::vector<int64_t>& coordinates) {
  return Writer(segment, schedule, local, ops, coordinates).module();
}

std::vector<std::string> modules_of(const Segment& segment, const Schedule& schedule, const LocalGraph& local,
                                    const OpSet& ops, int64_t rank) {
  const auto text_in = [&](int64_t micro_batch) {
    return module_of(segment, schedule, local, ops, local.mesh.coordinates(rank, micro_batch));
  };
  // For example, dropout draws other random numbers in each micro-batch.
  const int64_t count = repeats(schedule.section_of(segment.begin)) ? local.mesh.micro_batches() : 1;
  std::vector<std::string> texts{text_in(0)};
  if (count > 1 && text_in(count - 1) != texts[0]) {
    for (int64_t m = 1; m < count; ++m) texts.push_back(text_in(m));
  }
  return texts;
}

}  // namespace partita

#include "compiler/emit/segments.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/emit/emit_collective.h"
#include "compiler/emit/emit_node.h"
#include "compiler/emit/gather_barriers.h"
#include "compiler/emit/recompute_barriers.h"
#include "compiler/emit/uneven_shards.h"
#include "compiler/partition/collectives.h"
#include "ir/ops/id_flags.h"

namespace partita {
namespace {

bool communicates(const Instruction& instruction) {
  return instruction.kind == Instruction::collective || instruction.kind == Instruction::reduce ||
         instruction.kind == Instruction::start || instruction.kind == Instruction::wait;
}

}  // namespace

/// Writes the instructions of a segment.
class Segmenter::Writer {
 public:
  Writer(const Segmenter& whole, const Segment& segment, const std::vector<int64_t>& coordinates)
      : whole_(whole),
        segment_(segment),
        schedule_(whole.schedule_),
        local_(whole.local_),
        ops_(whole.ops_),
        rules_(whole.rules_),
        places_(whole.places_),
        coordinates_(coordinates),
        barriers_(segment, whole.schedule_, whole.local_, whole.places_),
        gathers_(segment, whole.schedule_, whole.local_) {
    for (size_t k = 0; k < segment.outputs.size(); ++k) results_.emplace(segment.outputs[k], k);
  }

  std::string module() {
    std::string parameters;
    for (size_t i = 0; i < segment_.inputs.size(); ++i) parameters += (i == 0 ? "" : ", ") + parameter(i);
    const auto add_flag = [&](std::string_view name) {
      parameters += fmt::format("{}{}: tensor<i1>", parameters.empty() ? "" : ", ", name);
    };
    if (segment_.accumulates) add_flag("%is_first");
    if (segment_.takes_good) add_flag(kGoodOperand);
    if (segment_.guards) add_flag(kFiniteOperand);
    for (size_t i = segment_.begin; i < segment_.end; ++i) write(i);
    std::optional<Hlo> good;
    if (segment_.takes_good) good = is_good();
    std::vector<Hlo> results;
    for (const int place : segment_.outputs) {
      const bool may_keep = segment_.guards && whole_.is_state_[place];
      results.push_back(may_keep ? emit_choice(body_, *good, values_.at(place), before_.at(place)) : values_.at(place));
    }
    if (good) results.push_back(*good);
    if (!flags_.empty()) results.push_back(emit_id_flags(body_, flags_));
    return module_text("segment", parameters, results, body_);
  }

 private:
  Type type_of(int buffer) const { return whole_.type_of(buffer, coordinates_); }

  std::string parameter(size_t index) {
    const int place = segment_.inputs[index];
    const Hlo value{fmt::format("%arg{}", index), type_of(place)};
    values_[place] = value;
    if (whole_.is_state_[place]) before_[place] = value;
    const auto output = results_.find(place);
    const std::string donated =
        output == results_.end() ? "" : fmt::format(" {{tf.aliasing_output = {} : i32}}", output->second);
    return fmt::format("{}: {}{}", value.name, hlo_type(value.type), donated);
  }

  void write(size_t index) {
    const Instruction& instruction = schedule_.instructions[index];
    if (communicates(instruction)) return communicate(instruction);
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
    if (std::ranges::find(segment_.checks, index) != segment_.checks.end()) {
      check_ids(instruction, inputs);
    }
    inputs = barriers_.guarded(index, inputs, values_, body_);
    const std::vector<Hlo> results = computed(instruction, inputs);
    barriers_.declare(index, results);
    gathers_.computed(results[0]);
    for (size_t k = 0; k < results.size(); ++k) values_[places_[instruction.outputs[k]]] = results[k];
  }

  /// Writes whether all is good after the program.
  Hlo is_good() {
    Hlo good{kGoodOperand, {DType::boolean, {}}};
    if (!flags_.empty()) good = body_.add_same("stablehlo.and", {good, emit_ids_are_good(body_, flags_)});
    if (!segment_.guards) return good;
    const UpdateGuard& guard = *whole_.guard_;
    const auto value_of = [&](int place) { return place < 0 ? nullptr : &values_.at(place); };
    return emit_is_good(body_, guard, local_.mesh, good, value_of(guard.loss), value_of(guard.finite));
  }

  void check_ids(const Instruction& instruction, const std::vector<Hlo>& inputs) {
    const IdOperand& ids = ops_.at(local_.graph.nodes[instruction.node].op).traits.ids;
    const int64_t limit = *id_limit_of(ids, whole_, local_, instruction.node, coordinates_);
    const auto flag = [&](HloBody& body, const Hlo& given) { return emit_id_flag(body, given, limit); };
    const Hlo& given = inputs[ids.operand];
    flags_.push_back(whole_.mode_ == CollectiveMode::whole
                         ? emit_without_padding(body_, sharded(instruction), given, ids.operand, flag)
                         : flag(body_, given));
  }

  std::vector<Hlo> computed(const Instruction& instruction, const std::vector<Hlo>& inputs) {
    const OpDef& op = ops_.at(local_.graph.nodes[instruction.node].op);
    const bool is_cudnn = instruction.choice.kernel == kCudnnKernel;
    const auto emit = [&](const EmitCall& call) { return is_cudnn ? op.cudnn->emit(call) : emit_node(ops_, op, call); };
    if (whole_.mode_ == CollectiveMode::cut) {
      std::vector<Type> types;
      for (const int buffer : instruction.outputs) types.push_back(type_of(buffer));
      return emit({body_, local_.attrs(instruction.node, coordinates_, rules_), inputs, types});
    }
    std::vector<Hlo> used = inputs;
    std::vector<Hlo> results = emit_on_shards(body_, sharded(instruction), used, emit);
    for (size_t i = 0; i < used.size(); ++i) {
      Hlo& value = values_.at(places_[instruction.inputs[i]]);
      if (value.name != inputs[i].name || used[i].name == value.name) continue;
      barriers_.declare_same(value, used[i]);
      value = used[i];
    }
    return results;
  }

  ShardedNode sharded(const Instruction& instruction) const {
    const auto values_of = [&](const std::vector<int>& buffers) {
      std::vector<ValueId> values;
      for (const int buffer : buffers) values.push_back(schedule_.buffers[buffer].value);
      return values;
    };
    return {.local = local_,
            .rules = rules_,
            .id = instruction.node,
            .can_share = instruction.choice.kernel != kCudnnKernel,
            .inputs = values_of(instruction.inputs),
            .outputs = values_of(instruction.outputs),
            .ranks = ranks()};
  }

  /// Returns the coordinates of the ranks that run the module in whole mode, in this micro-batch.
  std::vector<std::vector<int64_t>> ranks() const {
    const Mesh& mesh = local_.mesh;
    const int64_t micro_batch = mesh.micro_axis() < 0 ? 0 : coordinates_[static_cast<size_t>(mesh.micro_axis())];
    std::vector<std::vector<int64_t>> all;
    for (int64_t rank = 0; rank < mesh.ranks(); ++rank) all.push_back(mesh.coordinates(rank, micro_batch));
    return all;
  }

  /// Writes a collective where it starts. The compiler moves its end to where its result is needed.
  void communicate(const Instruction& instruction) {
    if (instruction.kind == Instruction::wait) return;
    if (instruction.bucket < 0) {
      const int from = instruction.inputs[0], to = instruction.outputs[0];
      const Hlo operand = gathers_.in_time(instruction.node, values_.at(places_[from]), body_);
      values_[places_[to]] = emit_collective(body_, local_, instruction.node, operand, type_of(to));
    } else {
      const Bucket& bucket = schedule_.buckets[instruction.bucket];
      std::vector<Hlo> operands;
      for (const int buffer : bucket.buffers) operands.push_back(values_.at(places_[buffer]));
      const std::vector<Hlo> sums = emit_all_reduces(body_, local_, bucket.nodes, operands);
      for (size_t k = 0; k < sums.size(); ++k) values_[places_[bucket.buffers[k]]] = sums[k];
    }
  }

  /// Returns the part of the first micro-batch as it is, and the sum with that of a later one.
  Hlo accumulated(const Instruction& instruction, const Hlo& part, const Hlo& sum) {
    const Reduce reduce = local_.graph.nodes[instruction.node].attrs.as<CollectiveAttrs>().reduce;
    const OpDef& op = ops_.at(accumulating_op(reduce));
    const Hlo joined = emit_node(body_, ops_, op, op.attrs, {sum, part}, {sum.type})[0];
    const Type flags{DType::boolean, sum.type.shape};
    const Hlo first = call_in(body_).broadcast({"%is_first", {DType::boolean, {}}}, flags.shape);
    return call_in(body_).select(first, part, joined);
  }

  const Segmenter& whole_;
  const Segment& segment_;
  const Schedule& schedule_;
  const LocalGraph& local_;
  const OpSet& ops_;
  const Rules& rules_;
  const std::vector<int>& places_;
  const std::vector<int64_t>& coordinates_;
  RecomputeBarriers barriers_;
  GatherBarriers gathers_;
  HloBody body_;
  std::vector<Hlo> flags_;                   // flags of its checks
  std::unordered_map<int, size_t> results_;  // by place: the result that has its value at the end
  std::unordered_map<int, Hlo> values_;      // by place: the value that it has at this point
  std::unordered_map<int, Hlo> before_;      // by place of a state: the value that it has before the program
};

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

bool Segmenter::in_program(const Instruction& instruction) const {
  switch (instruction.kind) {
    case Instruction::compute:
      return instruction.choice.kernel == kProgramKernel || instruction.choice.kernel == kCudnnKernel;
    case Instruction::copy:
    case Instruction::accumulate: return true;
    case Instruction::collective:
      return mode_ == CollectiveMode::whole && is_emitted_collective(local_.graph.nodes[instruction.node], local_.mesh);
    case Instruction::reduce:
    case Instruction::start:
    case Instruction::wait: return mode_ == CollectiveMode::whole;
    default: return false;
  }
}

Segmenter::Segmenter(const Schedule& schedule, const LocalGraph& local, const OpSet& ops, CollectiveMode mode,
                     Guarding guarding)
    : schedule_(schedule),
      local_(local),
      ops_(ops),
      mode_(mode),
      rules_(local.graph, ops),
      places_(places_of(schedule)),
      uses_(places_.size()),
      is_kept_(places_.size(), false),
      is_state_(places_.size(), false) {
  for (size_t i = 0; i < schedule.instructions.size(); ++i) {
    for (const int place : reads_of(schedule.instructions[i])) uses_[place].readers.push_back(i);
    for (const int place : writes_of(schedule.instructions[i])) uses_[place].writers.push_back(i);
  }
  for (const std::vector<int>* kept : {&schedule.entry, &schedule.outputs}) {
    for (const int buffer : *kept) is_kept_[places_[buffer]] = true;
  }
  for (const int entry : schedule.entry) is_state_[places_[entry]] = true;
  id_checks_ = id_checks_of(*this, schedule, local, ops);
  if (guarding == Guarding::where_possible) guard_ = update_guard_of(*this);
}

Type Segmenter::type_of(int buffer, const std::vector<int64_t>& coordinates) const {
  const ValueId value = schedule_.buffers[buffer].value;
  return mode_ == CollectiveMode::whole ? local_.largest(value) : local_.type(value, coordinates);
}

/// Places that an instruction reads. A sum over micro-batches and a stack of them read their result; a message of a
/// bucket reads its buffers.
std::vector<int> Segmenter::reads_of(const Instruction& instruction) const {
  if (does_nothing(instruction)) return {};
  std::vector<int> read;
  for (const int buffer : instruction.inputs) read.push_back(places_[buffer]);
  const bool is_stack =
      instruction.kind == Instruction::collective && performs(local_.graph.nodes[instruction.node], Collective::stack);
  if (is_stack || instruction.kind == Instruction::accumulate) read.push_back(places_[instruction.outputs[0]]);
  if (instruction.bucket < 0) return read;
  for (const int buffer : schedule_.buckets[instruction.bucket].buffers) read.push_back(places_[buffer]);
  return read;
}

std::vector<int> Segmenter::writes_of(const Instruction& instruction) const {
  if (does_nothing(instruction)) return {};
  std::vector<int> written;
  for (const int buffer : instruction.outputs) written.push_back(places_[buffer]);
  if (instruction.bucket >= 0) {
    for (const int buffer : schedule_.buckets[instruction.bucket].buffers) written.push_back(places_[buffer]);
  } else if (instruction.is_single_message() && instruction.kind == Instruction::wait) {
    written.push_back(places_[instruction.inputs[1]]);
  }
  return written;
}

std::vector<Segment> Segmenter::segments(const std::vector<size_t>& borders) const {
  std::vector<Segment> segments;
  const auto& list = schedule_.instructions;
  std::vector<bool> is_border(list.size() + 1, false);
  if (!guard_ || local_.mesh.micro_batches() > 1) {
    for (const size_t border : borders) is_border[border] = true;
  }
  for (size_t i = 0; i < list.size();) {
    if (!in_program(list[i])) {
      ++i;
      continue;
    }
    size_t end = i + 1;
    while (end < list.size() && in_program(list[end]) && !is_border[end] && list[end].last == list[i].last) ++end;
    segments.push_back(segment(i, end, /*gives_all=*/false));
    i = end;
  }
  return segments;
}

Segment Segmenter::segment_of(size_t instruction) const {
  return segment(instruction, instruction + 1, /*gives_all=*/true);
}

Segment Segmenter::segment(size_t begin, size_t end, bool gives_all) const {
  Segment segment{.begin = begin, .end = end};
  std::vector<int> written;
  std::unordered_set<int> is_written, is_input;
  for (size_t i = begin; i < end; ++i) {
    const Instruction& instruction = schedule_.instructions[i];
    segment.accumulates = segment.accumulates || instruction.kind == Instruction::accumulate;
    for (const int place : reads_of(instruction)) {
      if (!is_written.contains(place) && is_input.insert(place).second) segment.inputs.push_back(place);
    }
    for (const int place : writes_of(instruction)) {
      if (is_written.insert(place).second) written.push_back(place);
    }
  }
  for (const int place : written) {
    const std::vector<size_t>& readers = uses_[place].readers;
    const bool is_read = !readers.empty() && (readers.front() < begin || readers.back() >= end);
    if (gives_all || is_kept_[place] || is_read || is_input.contains(place)) segment.outputs.push_back(place);
  }
  for (const IdCheck& check : id_checks_) {
    const bool is_own = check.instruction >= begin && check.instruction < end && check.in_program;
    if (is_own && !gives_all) segment.checks.push_back(check.instruction);
  }
  if (guard_ && !gives_all) add_guard(segment);
  return segment;
}

/// Adds what a guarded segment takes: the states that it writes and, if it writes any, what says whether the step is
/// good.
void Segmenter::add_guard(Segment& segment) const {
  std::vector<int> taken;
  for (const int place : segment.outputs) {
    if (is_state_[place]) taken.push_back(place);
  }
  segment.guards = !taken.empty();
  segment.takes_good = segment.guards || !segment.checks.empty();
  if (!segment.guards) return;
  for (const int place : {guard_->loss, guard_->finite}) {
    if (place >= 0 && std::ranges::find(segment.outputs, place) == segment.outputs.end()) taken.push_back(place);
  }
  for (const int place : taken) {
    if (std::ranges::find(segment.inputs, place) == segment.inputs.end()) segment.inputs.push_back(place);
  }
}

std::vector<std::optional<LastReader>> Segmenter::last_readers() const {
  std::vector<std::optional<LastReader>> found(places_.size());
  std::vector<bool> is_sum(places_.size(), false);
  for (const Instruction& instruction : schedule_.instructions) {
    if (instruction.kind == Instruction::accumulate) is_sum[places_[instruction.outputs[0]]] = true;
  }
  for (size_t place = 0; place < found.size(); ++place) {
    const auto& [readers, writers] = uses_[place];
    if (is_kept_[place] || is_sum[place] || readers.empty()) continue;
    const size_t last = readers.back();
    // Each micro-batch writes the value before it reads it.
    const bool is_own = !writers.empty() && writers.front() < readers.front() &&
                        schedule_.in_micro_batch(writers.front()) && schedule_.in_micro_batch(last) &&
                        schedule_.in_micro_batch(writers.back()) && !schedule_.instructions[writers.front()].last;
    found[place] = {.instruction = last, .in_each_micro_batch = is_own || !repeats(schedule_.section_of(last))};
  }
  return found;
}

std::string Segmenter::module_of(const Segment& segment, const std::vector<int64_t>& coordinates) const {
  return Writer(*this, segment, coordinates).module();
}

std::vector<std::string> Segmenter::modules_of(const Segment& segment, int64_t rank) const {
  const Mesh& mesh = local_.mesh;
  const auto text_in = [&](int64_t micro_batch) { return module_of(segment, mesh.coordinates(rank, micro_batch)); };
  // For example, dropout draws other random numbers in each micro-batch.
  const int64_t count = repeats(schedule_.section_of(segment.begin)) ? mesh.micro_batches() : 1;
  std::vector<std::string> texts{text_in(0)};
  if (count > 1 && text_in(count - 1) != texts[0]) {
    for (int64_t m = 1; m < count; ++m) texts.push_back(text_in(m));
  }
  return texts;
}

std::vector<size_t> borders_of(const Pipeline& pipeline, const std::vector<StageProgram>& stages, size_t stage) {
  const Schedule& schedule = stages[stage].schedule;
  std::vector<size_t> borders(schedule.begins.begin(), schedule.begins.end());
  for (const Run& run : timeline(pipeline, stages, pipeline.shape.groups[stage])) {
    if (run.stage != static_cast<int>(stage)) continue;
    borders.insert(borders.end(), {run.begin, run.end});
  }
  if (stages.size() == 1) return borders;
  // Verdicts are exchanged at once, before the update, where a run begins in any case.
  const auto cuts = [&](size_t t) { return !pipeline.transfers[t].verdict; };
  const auto reads = transfers_read(pipeline, stages, static_cast<int>(stage));
  for (size_t i = 0; i < reads.size(); ++i) {
    if (std::ranges::any_of(reads[i], cuts)) borders.push_back(i);
  }
  const std::vector<SendPoint> points = send_points(pipeline, stages);
  for (size_t t = 0; t < points.size(); ++t) {
    const bool sends = pipeline.transfers[t].from_stage == static_cast<int>(stage);
    if (sends && points[t] && cuts(t)) borders.push_back(*points[t] + 1);
  }
  return borders;
}

}  // namespace partita

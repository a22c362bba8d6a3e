#include "runtime/execute/xla/stage_programs.h"

#include <algorithm>
#include <utility>

#include "base/free_memory.h"
#include "compiler/emit/emit_collective.h"
#include "runtime/execute/xla/with_place.h"

namespace partita {
namespace {

constexpr size_t kMaxInFlight = 64;  // runs; plugins may hold the results of all of them

/// Names the first and the last node of a segment: "first (matmul in net) to loss (reduce)".
std::string nodes_of(const StagePrograms::Parts& parts, const Segment& segment) {
  const auto text_of = [&](size_t i) {
    const Instruction& instruction = parts.schedule.instructions[i];
    const Graph& graph = parts.local.graph;
    if (instruction.node < 0) return graph.values[parts.schedule.buffers[instruction.outputs[0]].value].name;
    const Node& node = graph.nodes[instruction.node];
    return fmt::format("{} ({}{})", node.name, node.op, node.scope.empty() ? "" : " in " + node.scope);
  };
  const std::string first = text_of(segment.begin);
  return segment.end == segment.begin + 1 ? first : fmt::format("{} to {}", first, text_of(segment.end - 1));
}

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

/// Returns the bytes of temporaries of a program; none if the plugin does not know.
std::optional<int64_t> temporaries_of(const pjrt::Executable& program) {
  try {
    return program.memory().temporaries;
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// One rank needs no whole mode. What updates nothing, such as an evaluation, does without it if shards are uneven: the
/// last rows of a dataset often are.
CollectiveMode mode_of(const StagePrograms::Parts& parts) {
  if (parts.collectives == CollectiveMode::cut || parts.local.mesh.ranks() == 1) return CollectiveMode::cut;
  const bool updates = parts.schedule.update() < parts.schedule.instructions.size();
  if (!updates && refusal_of_whole(parts.local)) return CollectiveMode::cut;
  require_whole(parts.local);
  return CollectiveMode::whole;
}

std::optional<Gang> gang_of(const StagePrograms::Parts& parts, CollectiveMode mode) {
  if (mode == CollectiveMode::cut) return std::nullopt;
  return std::optional<Gang>(std::in_place, *parts.ranks, parts.accelerator);
}

}  // namespace

StagePrograms::StagePrograms(const Parts& parts, const ProgramCuts& cuts, DeviceValues* holder)
    : parts_(parts),
      owner_(cuts.owner),
      segmenter_(parts.schedule, parts.local, parts.ops, mode_of(parts), cuts.guarding),
      gang_(gang_of(parts, segmenter_.mode())),
      values_({parts.local, parts.schedule, segmenter_, parts.buffers, parts.accelerator, cuts.owner}, holder),
      inputs_({parts.local, parts.schedule, segmenter_, parts.buffers, parts.accelerator, cuts.owner}, values_),
      ids_({parts.local, parts.schedule, parts.ops, segmenter_, parts.buffers, parts.rank, parts.ranks, cuts.owner}),
      by_instruction_(parts.schedule.instructions.size(), -1) {
  for (const bool flag : {false, true}) {
    flags_.push_back(parts.accelerator.client().upload(parts.accelerator.device(), {{DType::boolean, {}}, &flag}));
  }
  for (Segment& segment : segmenter_.segments(cuts.borders)) {
    segments_.push_back(load(std::move(segment)));
    const Loaded& loaded = segments_.back();
    if (!loaded.programs.empty()) by_instruction_[loaded.segment.begin] = static_cast<int>(segments_.size()) - 1;
  }
  require_room();
  values_.on_failure([this] { require_success(); });
}

/// Checks whether there is room for the program that needs the most: with its temporaries, states, outputs, and values
/// that it uses or that are used before and after it.
void StagePrograms::require_room() {
  const bool takes_inputs = parts_.local.mesh.micro_batches() == 1;
  has_room_for_next_ = takes_inputs;
  can_run_ahead_ = takes_inputs && guards_update() && segments_.size() == 1 &&
                   std::ranges::all_of(parts_.schedule.instructions,
                                       [&](const Instruction& one) { return segmenter_.in_program(one); });
  const std::optional<int64_t> limit = parts_.accelerator.client().memory_limit(parts_.accelerator.device());
  if (!limit) return;
  const std::vector<ProgramMemory> needs = memory_of_segments();
  const auto most = std::ranges::max_element(
      needs, [](const ProgramMemory& a, const ProgramMemory& b) { return a.bytes() < b.bytes(); });
  if (most == needs.end()) return;
  const bool says_all = std::ranges::all_of(needs, [](const auto& need) { return need.temporaries.has_value(); });
  const int64_t rest = *limit - *limit / 10 - most->bytes();
  has_room_for_next_ = has_room_for_next_ && says_all && inputs_.bytes() <= rest;
  can_run_ahead_ = can_run_ahead_ && says_all && 2 * inputs_.bytes() <= rest;
  if (most->bytes() <= *limit) return;
  throw RuntimeFailure(
      ExitCode::out_of_memory,
      "[memory] the programs do not fit the device, got {} ({} of states, {} of other values, {} of temporaries) for "
      "the program of {}{}, expected at most the {} that it has: a smaller batch or model, or more devices",
      print_bytes(most->bytes()), print_bytes(most->held.states), print_bytes(most->held.values),
      print_bytes(most->temporaries.value_or(0)),
      nodes_of(parts_, segments_[static_cast<size_t>(most - needs.begin())].segment), owner_, print_bytes(*limit));
}

std::vector<StagePrograms::ProgramMemory> StagePrograms::memory_of_segments() const {
  std::vector<Segment> segments;
  for (const Loaded& loaded : segments_) segments.push_back(loaded.segment);
  const std::vector<HeldBytes> held = held_bytes(segmenter_, segments, parts_.buffers.coordinates());
  std::vector<ProgramMemory> needs;
  for (size_t i = 0; i < segments_.size(); ++i) {
    ProgramMemory& need = needs.emplace_back(ProgramMemory{.held = held[i]});
    if (!segments_[i].programs.empty()) need.temporaries = temporaries_of(*segments_[i].programs[0]);
  }
  return needs;
}

StagePrograms::Loaded StagePrograms::load(Segment segment) const {
  if (segment.outputs.empty()) return {.segment = std::move(segment)};  // nothing but waits
  const std::vector<std::string> texts = segmenter_.modules_of(segment, parts_.rank);
  Loaded loaded{.segment = std::move(segment)};
  const auto &inputs = loaded.segment.inputs, &outputs = loaded.segment.outputs;
  for (const int entry : parts_.schedule.entry) {
    if (std::ranges::find(outputs, values_.place_of(entry)) != outputs.end()) loaded.writes_states = true;
  }
  for (const int place : outputs) {
    if (std::ranges::find(inputs, place) == inputs.end()) loaded.replaced.push_back(place);
  }
  with_place([&](const Error& error) { return description_of(loaded, error); },
             [&] {
               for (const std::string& text : texts) {
                 loaded.programs.push_back(gang_ ? gang_->compile(text) : parts_.accelerator.compile(text));
               }
             });
  return loaded;
}

/// Starts a segment where it begins. Its other instructions do nothing, unless all run singly.
std::function<void()> StagePrograms::program_action(size_t i) {
  if (!contains(i)) return nullptr;
  return [this, i] {
    if (starts_at(i)) run(i);
  };
}

std::function<void()> StagePrograms::host_action(std::vector<int> read, std::vector<int> written,
                                                 std::function<void()> action) {
  return [this, read = std::move(read), written = std::move(written), action = std::move(action)] {
    const int64_t micro_batch = parts_.buffers.micro_batch();
    for (const int buffer : read) values_.on_host(buffer, micro_batch);
    action();
    for (const int buffer : written) values_.written(buffer, micro_batch);
  };
}

bool StagePrograms::has_span(size_t i, Span& span) const {
  if (!contains(i)) return true;
  if (!starts_at(i)) return false;
  span.last = static_cast<int32_t>(singly_ ? i : segments_[static_cast<size_t>(by_instruction_[i])].segment.end - 1);
  span.exposed = 0;
  return true;
}

void StagePrograms::run(size_t i) {
  if (!singly_) return launch(segments_[static_cast<size_t>(by_instruction_[i])]);
  auto at = single_.find(i);
  if (at == single_.end()) at = single_.emplace(i, load(segmenter_.segment_of(i))).first;
  launch(at->second);
}

void StagePrograms::run_singly(bool singly) {
  release_pending();  // a later step may have values in these places when it has run its first instruction
  singly_ = singly;
}

void StagePrograms::release_pending() {
  if (pending_) values_.release_after(pending_->first, pending_->second);
  pending_.reset();
}

void StagePrograms::ran(size_t i) {
  release_pending();
  if (singly_) {  // its results are looked at before the next one runs
    pending_.emplace(i, parts_.buffers.micro_batch());
  } else {
    values_.release_after(i, parts_.buffers.micro_batch());
  }
}

void StagePrograms::launch(const Loaded& loaded) {
  if (loaded.programs.empty()) return;  // nothing but waits
  ids_.require_on_host(loaded.segment, values_);
  try {
    enqueue(loaded);
  } catch (...) {
    const std::exception_ptr error = std::current_exception(), earlier = in_flight_.await_all();
    fail(earlier != nullptr ? earlier : error);
  }
  if (in_flight_.count() <= kMaxInFlight) return;
  if (const std::exception_ptr error = in_flight_.await_oldest(); error != nullptr) {
    in_flight_.await_all();
    fail(error);
  }
}

void StagePrograms::enqueue(const Loaded& loaded) {
  const int64_t micro_batch = parts_.buffers.micro_batch();
  std::vector<const pjrt::Buffer*> arguments;
  const auto describe = [&](const Error& error) { return description_of(loaded, error); };
  for (const int place : loaded.segment.inputs)
    arguments.push_back(&with_place(
        describe, [&]() -> const auto& { return values_.on_device(place, micro_batch); }));
  if (loaded.segment.accumulates) arguments.push_back(&flags_[micro_batch == 0 ? 1 : 0]);
  if (loaded.segment.takes_good) arguments.push_back(good_ ? &*good_ : &flags_[1]);
  if (loaded.segment.guards) arguments.push_back(&flags_[must_be_finite_ ? 1 : 0]);
  updates_ = updates_ || loaded.writes_states;
  for (const int place : loaded.replaced) values_.release(place, micro_batch);
  pjrt::Results results = start(loaded, std::move(arguments));
  for (size_t k = 0; k < loaded.segment.outputs.size(); ++k)
    values_.set(loaded.segment.outputs[k], micro_batch, std::move(results.buffers[k]));
  if (loaded.segment.takes_good) good_.emplace(std::move(results.buffers[loaded.segment.outputs.size()]));
  if (!loaded.segment.checks.empty()) ids_.add(loaded.segment, std::move(results.buffers.back()));
  in_flight_.add(
      std::move(results.done), [this, &loaded](const Error& error) { return description_of(loaded, error); },
      loaded.segment.outputs, span_of(loaded));
  if (after_start_) std::exchange(after_start_, nullptr)();
}

Span StagePrograms::span_of(const Loaded& loaded) const {
  return {.index = static_cast<int32_t>(loaded.segment.begin),
          .micro_batch = static_cast<int32_t>(parts_.buffers.micro_batch()),
          .last = static_cast<int32_t>(loaded.segment.end) - 1,
          .begin = started_ != 0 ? started_ : Recorder::now()};
}

/// Starts a program, on all ranks in whole mode. Errors of the plugin name the rank that makes the call.
pjrt::Results StagePrograms::start(const Loaded& loaded, std::vector<const pjrt::Buffer*> arguments) {
  const bool is_only = loaded.programs.size() == 1;
  const auto& program = loaded.programs[is_only ? 0 : static_cast<size_t>(parts_.buffers.micro_batch())];
  const auto place = [&](const Error& error) { return description_of(loaded, error); };
  started_ = 0;
  if (!gang_) {
    started_ = Recorder::now();
    return with_place(place, [&] { return program->run(parts_.accelerator.device(), arguments); });
  }
  return gang_->run(std::move(arguments), [&](const Gang::Arguments& all, pjrt::RunId run) {
    started_ = Recorder::now();
    return with_place(place, [&] { return program->run_all(all, run); });
  });
}

/// Waits for all runs. Throws the error of the first that failed.
void StagePrograms::require_success() {
  if (const std::exception_ptr error = in_flight_.await_all(); error != nullptr) fail(error);
}

void StagePrograms::require_ids() {
  try {
    ids_.require();
  } catch (...) {
    const std::exception_ptr error = std::current_exception(), earlier = in_flight_.await_all();
    fail(earlier != nullptr ? earlier : error);
  }
}

void StagePrograms::finish() {
  const Recorded recorded(in_flight_.recorder(), {.kind = Span::device});
  require_success();
  require_ids();
  updates_ = false;
}

void StagePrograms::begin_step(bool must_be_finite) {
  if (steps_.empty()) {
    ids_.forget();
    inputs_.forget_steps();
  }
  must_be_finite_ = must_be_finite;
  ids_.begin_step();
  in_flight_.begin_step();
  if (guards_update()) inputs_.begin_step();
}

void StagePrograms::started_step() {
  const UpdateGuard& guard = *segmenter_.guard();
  const auto shared = [&](int place) { return place < 0 ? nullptr : values_.shared(place); };
  steps_.push_back({shared(guard.loss), shared(guard.finite)});
}

StepNumbers StagePrograms::await_step() {
  const Recorded recorded(in_flight_.recorder(), {.kind = Span::device});
  const OutputsInFlight outputs = std::move(steps_.front());
  steps_.pop_front();
  const auto later = static_cast<int64_t>(steps_.size());
  if (const std::exception_ptr error = in_flight_.await_steps(later); error != nullptr) {
    in_flight_.await_all();
    fail(error);
  }
  StepNumbers numbers;
  try {
    ids_.require(later);
    const auto bring = [&](const pjrt::Buffer& from, int place) {
      Array to(parts_.buffers.type_of(place));
      from.download(to.tensor());
      return to;
    };
    const UpdateGuard& guard = *segmenter_.guard();
    if (outputs.loss != nullptr) numbers.loss = bring(*outputs.loss, guard.loss);
    if (outputs.finite != nullptr) numbers.has_finite_gradients = bring(*outputs.finite, guard.finite).at(0) != 0;
  } catch (...) {
    const std::exception_ptr error = std::current_exception(), earlier = in_flight_.await_all();
    updates_ = updates_ && earlier != nullptr;  // else all programs have ended well
    fail(earlier != nullptr ? earlier : error);
  }
  if (numbers.are_finite()) {
    inputs_.end_step();
  } else {
    require_success();
    inputs_.take_back();
    forget_steps();
  }
  updates_ = updates_ && in_flight_.count() > 0;
  return numbers;
}

/// Forgets the steps in flight, which have ended.
void StagePrograms::forget_steps() {
  steps_.clear();
  good_.reset();
  ids_.forget();
  inputs_.forget_steps();
}

void StagePrograms::keep_states_alone() {
  values_.keep_states_alone();
  inputs_.forget_next();
}

void StagePrograms::fail(const std::exception_ptr& error) {
  if (guards_update()) forget_steps();
  values_.forget_results();
  if (std::exchange(updates_, false)) values_.lose_states(error);
  std::rethrow_exception(error);
}

std::string StagePrograms::description_of(const Loaded& loaded, const Error& error) const {
  const bool lacks_memory = error.code() == ExitCode::out_of_memory && !loaded.programs.empty();
  return "in the program of " + nodes_of(parts_, loaded.segment) +
         (lacks_memory ? memory_text(*loaded.programs[0]) : "") + owner_;
}

}  // namespace partita

#include "runtime/execute/xla/stage_programs.h"

#include <utility>

#include "compiler/emit/emit_collective.h"
#include "runtime/execute/xla/program_room.h"
#include "runtime/execute/xla/with_place.h"

namespace partita {
namespace {

constexpr size_t kMaxInFlight = 64;  // runs; plugins may hold the results of all of them

/// One rank needs no whole mode. What updates nothing, such as an evaluation, does without it if its plan has a move
/// that no program performs.
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
    const LoadedSegment& loaded = segments_.back();
    if (!loaded.programs.empty()) by_instruction_[loaded.segment.begin] = static_cast<int>(segments_.size()) - 1;
  }
  find_room();
  values_.on_failure([this] { require_success(); });
}

/// Finds out whether inputs of more than one step fit the device. Throws if its programs do not.
void StagePrograms::find_room() {
  ProgramRoom room{.segmenter = segmenter_,
                   .coordinates = parts_.buffers.coordinates(),
                   .limit = parts_.accelerator.client().memory_limit(parts_.accelerator.device()),
                   .inputs = inputs_.bytes(),
                   .describe = [&](const Segment& segment) { return nodes_of(segmenter_, segment) + owner_; }};
  for (const LoadedSegment& loaded : segments_) {
    room.segments.push_back(loaded.segment);
    room.programs.push_back(loaded.programs.empty() ? nullptr : loaded.programs[0].get());
  }
  const int more = more_inputs(room);
  has_room_for_next_ = parts_.local.mesh.micro_batches() == 1 && more > 0;
  can_run_ahead_ = has_room_for_next_ && more > 1 && guards_update() && segmenter_.runs_all();
}

LoadedSegment StagePrograms::load(Segment segment) const {
  return load_segment(segmenter_, std::move(segment), parts_.rank, owner_, [&](const std::string& text) {
    return gang_ ? gang_->compile(text) : parts_.accelerator.compile(text);
  });
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

void StagePrograms::launch(const LoadedSegment& loaded) {
  if (loaded.programs.empty()) return;  // nothing but waits
  ids_.require_on_host(loaded.segment, values_);
  starts_update_ = false;
  try {
    enqueue(loaded);
  } catch (...) {
    fail_with_first(std::current_exception(), /*updates_are_good=*/!starts_update_);
  }
  if (in_flight_.count() <= kMaxInFlight) return;
  if (const std::exception_ptr error = in_flight_.await_oldest(); error != nullptr) fail(error);
}

void StagePrograms::enqueue(const LoadedSegment& loaded) {
  const int64_t micro_batch = parts_.buffers.micro_batch();
  std::vector<const pjrt::Buffer*> arguments;
  const auto describe = [&](const Error& error) { return description_of(segmenter_, loaded, error, owner_); };
  for (const int place : loaded.segment.inputs)
    arguments.push_back(&with_place(
        describe, [&]() -> const auto& { return values_.on_device(place, micro_batch); }));
  if (loaded.segment.accumulates) arguments.push_back(&flags_[micro_batch == 0 ? 1 : 0]);
  if (loaded.segment.takes_good) arguments.push_back(good_ ? &*good_ : &flags_[1]);
  if (loaded.segment.guards) arguments.push_back(&flags_[must_be_finite_ ? 1 : 0]);
  starts_update_ = loaded.writes_states;
  updates_ = updates_ || starts_update_;
  for (const int place : loaded.replaced) values_.release(place, micro_batch);
  pjrt::Results results = start(loaded, std::move(arguments));
  for (size_t k = 0; k < loaded.segment.outputs.size(); ++k)
    values_.set(loaded.segment.outputs[k], micro_batch, std::move(results.buffers[k]));
  if (loaded.segment.takes_good) good_.emplace(std::move(results.buffers[loaded.segment.outputs.size()]));
  if (!loaded.segment.checks.empty()) ids_.add(loaded.segment, std::move(results.buffers.back()));
  in_flight_.add(
      std::move(results.done),
      [this, &loaded](const Error& error) { return description_of(segmenter_, loaded, error, owner_); },
      loaded.segment.outputs, span_of(loaded));
  if (after_start_) std::exchange(after_start_, nullptr)();
}

Span StagePrograms::span_of(const LoadedSegment& loaded) const {
  return {.index = static_cast<int32_t>(loaded.segment.begin),
          .micro_batch = static_cast<int32_t>(parts_.buffers.micro_batch()),
          .last = static_cast<int32_t>(loaded.segment.end) - 1,
          .begin = started_ != 0 ? started_ : Recorder::now()};
}

/// Starts a program, on all ranks in whole mode. Errors of the plugin name the rank that makes the call.
pjrt::Results StagePrograms::start(const LoadedSegment& loaded, std::vector<const pjrt::Buffer*> arguments) {
  const bool is_only = loaded.programs.size() == 1;
  const auto& program = loaded.programs[is_only ? 0 : static_cast<size_t>(parts_.buffers.micro_batch())];
  const auto place = [&](const Error& error) { return description_of(segmenter_, loaded, error, owner_); };
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
    fail_with_first(std::current_exception(), /*updates_are_good=*/false);
  }
}

void StagePrograms::finish() {
  const Recorded recorded(in_flight_.recorder(), {.kind = Span::device});
  require_success();
  require_ids();
  updates_ = false;
}

void StagePrograms::begin_step(bool must_be_finite) {
  if (steps_.count() == 0) forget_steps();  // an error may have ended a step before it was started
  must_be_finite_ = must_be_finite;
  ids_.begin_step();
  in_flight_.begin_step();
  if (guards_update() && !singly_) inputs_.begin_step();
}

void StagePrograms::started_step() { steps_.add(values_, *segmenter_.guard()); }

StepNumbers StagePrograms::await_step() {
  const Recorded recorded(in_flight_.recorder(), {.kind = Span::device});
  const auto later = static_cast<int64_t>(steps_.count()) - 1;
  if (const std::exception_ptr error = in_flight_.await_steps(later); error != nullptr) fail(error);
  StepNumbers numbers;
  try {
    ids_.require(later);
    numbers = steps_.take_oldest(values_, *segmenter_.guard());
  } catch (...) {
    fail_with_first(std::current_exception(), /*updates_are_good=*/true);
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
  steps_.forget();
  good_.reset();
  ids_.forget();
  inputs_.forget_steps();
}

void StagePrograms::keep_states_alone() {
  PARTITA_CHECK(steps_.count() == 0, "{} steps in flight", steps_.count());
  values_.keep_states_alone();
  inputs_.forget_next();
}

/// Waits for all runs, then throws the error of the first that failed; `error` if none did. `updates_are_good`: whether
/// the updates that were started are good in that case.
void StagePrograms::fail_with_first(const std::exception_ptr& error, bool updates_are_good) {
  const std::exception_ptr earlier = in_flight_.await_all();
  if (earlier == nullptr && updates_are_good) updates_ = false;
  fail(earlier != nullptr ? earlier : error);
}

void StagePrograms::fail(const std::exception_ptr& error) {
  in_flight_.await_all();
  forget_steps();
  values_.forget_sums();
  if (std::exchange(updates_, false)) values_.lose_states(error);
  std::rethrow_exception(error);
}

}  // namespace partita

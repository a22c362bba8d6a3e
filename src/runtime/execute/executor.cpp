#include "runtime/execute/executor.h"

#include <algorithm>
#include <numeric>

#include "base/finite.h"
#include "base/held_signals.h"
#include "compiler/autodiff/training_graph.h"
#include "compiler/emit/segments.h"
#include "runtime/execute/instruction_places.h"
#include "runtime/execute/shard_copy.h"
#include "runtime/execute/subnormals.h"

namespace partita {
namespace {

constexpr int64_t kMaxSpans = int64_t{1} << 20;  // recorded per thread at most
constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

/// Wraps a local graph and its schedule as the only stage of a pipeline.
std::vector<StageProgram> as_stage(const LocalGraph& local, const Schedule& schedule) {
  std::vector<StageProgram> stages(1);
  stages[0].local = local;
  stages[0].schedule = schedule;
  return stages;
}

/// Lets each instruction of some stages run by itself while this object lives.
class Singly {
 public:
  explicit Singly(const std::vector<std::unique_ptr<StageExecutor>>& stages) : stages_(stages) {
    for (const auto& stage : stages_) stage->values().run_singly(true);
  }
  Singly& operator=(Singly&&) = delete;
  ~Singly() {
    for (const auto& stage : stages_) stage->values().run_singly(false);
  }

 private:
  const std::vector<std::unique_ptr<StageExecutor>>& stages_;
};

/// Lets a stage make a call once it has started a program, while this object lives.
class Meanwhile {
 public:
  Meanwhile(StageValues& values, const std::function<void()>& call) : values_(values) {
    values_.call_after_start(call);
  }
  Meanwhile& operator=(Meanwhile&&) = delete;
  ~Meanwhile() { values_.call_after_start(nullptr); }

 private:
  StageValues& values_;
};

Pipeline pipeline_of(int ranks) {
  Pipeline pipeline;
  pipeline.groups[0].count = ranks;
  return pipeline;
}

}  // namespace

struct Executor::Impl {
  std::vector<StageProgram> kept;  // the only stage of a program without a pipeline
  Pipeline kept_pipeline;
  const Pipeline& pipeline;
  const std::vector<StageProgram>& stages;
  const InstructionPlaces places{stages};
  Device& device;
  Communicator& world;
  int group = 0;  // the group of this rank
  /// ranks: of the group; null if there is one group. messengers: of all ranks, for transfers; null if there is one
  /// stage.
  std::unique_ptr<Communicator> ranks, messengers;
  std::vector<std::unique_ptr<StageExecutor>> own;
  std::vector<StageExecutor*> by_stage;  // null: not on this rank
  std::vector<Run> runs;                 // runs of this rank, before the update
  std::unique_ptr<DeviceMail> mail;      // null: values of stages go through the host's memory
  std::optional<Transfers> transfers;
  Recorder* recorder = nullptr;
  bool has_begun = false;  // whether a step whose update is not guarded has begun and not ended

  Impl(const Pipeline& order, const std::vector<StageProgram>& programs, const OpSet& ops, Device& where,
       Communicator& all, const Impl* holder)
      : pipeline(order), stages(programs), device(where), world(all) {
    PARTITA_CHECK(holder == nullptr || (holder->pipeline.groups == pipeline.groups &&
                                        holder->pipeline.shape.groups == pipeline.shape.groups),
                  "the executor that holds the states has other stages");
    bind(ops, holder);
  }
  Impl(const LocalGraph& local, const Schedule& schedule, const OpSet& ops, Device& where, Communicator& all)
      : kept(as_stage(local, schedule)),
        kept_pipeline(pipeline_of(static_cast<int>(local.mesh.ranks()))),
        pipeline(kept_pipeline),
        stages(kept),
        device(where),
        world(all) {
    bind(ops, nullptr);
  }

  void bind(const OpSet& ops, const Impl* holder) {
    PARTITA_CHECK(pipeline.ranks() == world.size(), "a mesh of {} ranks on {} ranks", pipeline.ranks(), world.size());
    while (!pipeline.groups[static_cast<size_t>(group)].contains(world.rank())) ++group;
    if (pipeline.groups.size() > 1) {
      const RankGroup& members = pipeline.groups[static_cast<size_t>(group)];
      std::vector<int> list(static_cast<size_t>(members.count));
      std::iota(list.begin(), list.end(), members.first);
      ranks = world.split(list);
    }
    if (stages.size() > 1) {
      std::vector<int> all(static_cast<size_t>(world.size()));
      std::iota(all.begin(), all.end(), 0);
      messengers = world.split(all);
    }
    if (device.collectives() == CollectiveMode::whole && world.size() > 1) join_devices(world, device);
    for (size_t stage = 0; stage < stages.size(); ++stage) {
      by_stage.push_back(nullptr);
      if (pipeline.shape.groups[stage] != group) continue;
      own.push_back(std::make_unique<StageExecutor>(stages[stage].local, stages[stage].schedule, ops, device,
                                                    ranks ? *ranks : world,
                                                    holder != nullptr ? holder->by_stage[stage] : nullptr,
                                                    device.accelerator() != nullptr ? cuts_of(stage) : ProgramCuts{}));
      by_stage.back() = own.back().get();
    }
    runs = timeline(pipeline, stages, group);
    if (messengers && device.accelerator() != nullptr) mail = DeviceMail::open(*messengers, *device.accelerator());
    if (messengers) transfers.emplace(pipeline, stages, by_stage, *messengers, mail.get());
  }

  ProgramCuts cuts_of(size_t stage) const {
    ProgramCuts cuts{.borders = borders_of(pipeline, stages, stage), .guarding = guarding_of(stages)};
    if (stages.size() > 1) cuts.owner = fmt::format(" on stage {}", stage);
    if (world.size() > 1) cuts.owner += fmt::format(" on rank {}", world.rank());
    return cuts;
  }

  /// Whether programs keep the states of a step that is not finite, so that its update starts at once.
  bool guards_update() const { return own.front()->values().guards_update(); }

  size_t steps_in_flight() const { return guards_update() ? own.front()->values().steps_in_flight() : has_begun; }

  /// Runs all of a step whose update is guarded, or all before the update. `must_be_finite`: whether a guarded update
  /// keeps the states otherwise.
  void begin_step(DeviceSubnormals& threads, bool must_be_finite) {
    const size_t in_flight = steps_in_flight();
    PARTITA_CHECK(in_flight == 0 || (in_flight == 1 && must_be_finite && own.front()->values().can_run_ahead()),
                  "a step begins while {} are in flight", in_flight);
    for (const auto& stage : own) stage->begin_step(must_be_finite);
    run_before_update(threads);
    if (!guards_update()) {
      await_sections();
      has_begun = true;
      return;
    }
    run_update(threads);
    own.front()->values().started_step();
  }

  /// Runs a step up to the update. Calls `after(run, instruction)` after each instruction, if given. Throws
  /// KernelErrors, RankFailures, and what `after` throws.
  void run_before_update(DeviceSubnormals& threads, const std::function<void(const Run&, size_t)>& after = nullptr) {
    if (transfers) transfers->begin_step();
    for (const Run& run : runs) {
      const Recorded recorded(recorder, section_span(run.stage, run.section, run.micro_batch));
      StageExecutor& stage = *by_stage[static_cast<size_t>(run.stage)];
      stage.begin(run.micro_batch);
      if (!transfers && !after) {
        stage.run(run.begin, run.end, threads);
        continue;
      }
      if (transfers) transfers->begin(run);
      for (size_t i = run.begin; i < run.end; ++i) {
        if (transfers) transfers->before(run, i);
        stage.run(i, i + 1, threads);
        if (transfers) transfers->after(run, i);
        if (after) after(run, i);
      }
    }
  }

  /// Waits for what the update needs: checks of ids, and the exchange of stages.
  void await_sections() {
    for (const auto& stage : own) stage->values().require_ids();
    if (transfers) transfers->share_verdict();
  }

  void run_update(DeviceSubnormals& threads) {
    for (size_t number = 0; number < by_stage.size(); ++number) {
      StageExecutor* stage = by_stage[number];
      if (stage == nullptr) continue;
      const Recorded recorded(recorder, section_span(static_cast<int>(number), Section::update, 0));
      stage->begin(0);
      stage->run(stage->schedule().begin(Section::update), stage->schedule().end(Section::update), threads);
    }
  }

  void finish() {
    for (const auto& stage : own) stage->values().finish();
  }

  static Span section_span(int stage, Section section, int64_t micro_batch) {
    return {.kind = Span::section,
            .stage = stage,
            .index = static_cast<int32_t>(section),
            .micro_batch = static_cast<int32_t>(micro_batch)};
  }

  void record(Recorder& spans, int64_t steps) {
    recorder = &spans;
    if (transfers) transfers->record(recorder);
    std::vector<int64_t> threads{spans_of_step() * steps};
    for (size_t number = 0; number < by_stage.size(); ++number) {
      if (by_stage[number] == nullptr) continue;
      by_stage[number]->record(recorder, static_cast<int>(number), static_cast<int>(threads.size()),
                               static_cast<int>(own.size()) + 1);
      const auto& instructions = by_stage[number]->schedule().instructions;
      const int64_t started =
          std::ranges::count_if(instructions, [](const Instruction& one) { return one.kind == Instruction::start; });
      threads.push_back(started * by_stage[number]->local().mesh.micro_batches() * steps);
    }
    if (device.accelerator() != nullptr) threads.push_back(spans_of_step() * steps);
    for (int64_t& count : threads) count = std::min(count, kMaxSpans);
    spans.reserve(threads);
  }

  /// Upper bound on the spans that this rank's compute thread records in one step.
  int64_t spans_of_step() const {
    constexpr int64_t kOthers = 16;  // the step itself and what runs between its sections
    int64_t spans = kOthers;
    // On accelerators an instruction of the host may wait for the device first.
    const int64_t each = device.accelerator() != nullptr ? 2 : 1;
    for (const Run& run : runs) spans += 2 + each * static_cast<int64_t>(run.end - run.begin);
    for (const auto& stage : own) {
      spans += 2 + each * static_cast<int64_t>(stage->schedule().end(Section::update) - stage->schedule().update());
      // Each transfer is sent, for which it may wait, and received at most once per micro-batch.
      spans += 3 * static_cast<int64_t>(pipeline.transfers.size()) * stage->local().mesh.micro_batches();
    }
    return spans;
  }

  /// The numbers of a step whose update is not guarded, before the update.
  StepNumbers read_numbers() {
    const auto& [stage, buffer] = with_output("loss");
    stage->await_value(buffer, 0);
    const Recorded recorded(recorder, {.kind = Span::check});
    return {.loss = stage->read(buffer), .has_finite_gradients = has_finite_gradients()};
  }

  /// Ends the oldest step that has begun, with the update unless that was guarded.
  StepResult end_step(DeviceSubnormals& threads) {
    PARTITA_CHECK(steps_in_flight() > 0, "no step to end");
    const bool is_guarded = guards_update();
    has_begun = false;
    const StepNumbers numbers = is_guarded ? own.front()->values().await_step() : read_numbers();
    PARTITA_CHECK(numbers.loss, "a step without a loss");
    StepResult result{.loss = numbers.loss->at(0)};
    if (!numbers.are_finite()) {
      result.bad = describe_bad(numbers, threads);
    } else if (!is_guarded) {
      run_update(threads);
      finish();
    }
    return result;
  }

  /// Says what is not finite and which node made it first, the same on every rank. A collective call over the world.
  std::string describe_bad(const StepNumbers& numbers, DeviceSubnormals& threads) {
    std::string what = "the gradients are not finite, got NaN or infinity, expected numbers";
    const Array& loss = *numbers.loss;
    if (!are_finite(loss.type().dtype, loss.data(), loss.type().elements())) {
      what = fmt::format("the loss is not finite, got {}, expected a number",
                         std::isnan(loss.at(0)) ? std::abs(loss.at(0)) : loss.at(0));
    }
    const int64_t bad = first_bad(threads);
    std::string place = places.describe(bad == kNone ? std::nullopt : std::optional(bad / world.size()));
    if (bad != kNone && world.size() > 1) place += fmt::format(" on rank {}", bad % world.size());
    return what + ": " + place;
  }

  /// Whether the output kFinite is not 0. True without it.
  bool has_finite_gradients() const {
    const auto& outputs = own.front()->local().graph.outputs;
    const auto found = std::ranges::find_if(outputs, [](const Output& output) { return output.name == kFinite; });
    if (found == outputs.end()) return true;
    return own.front()->read(own.front()->schedule().outputs[static_cast<size_t>(found - outputs.begin())]).at(0) != 0;
  }

  /// Replays forward and backward on the same inputs; no state has changed. Returns `place * ranks + rank`, where
  /// `place` is the first instruction over all stages and ranks with a non-finite result and `rank` is the
  /// lowest rank on which it has one. Returns kNone if there is none. A collective call over the world. Throws as
  /// `run_before_update` does.
  int64_t first_bad(DeviceSubnormals& threads) {
    int64_t bad = kNone;
    forget_next_inputs();  // the replay keeps all values
    {
      const Singly singly(own);
      for (const auto& stage : own) stage->begin_step(/*must_be_finite=*/true);
      run_before_update(threads, [&](const Run& run, size_t instruction) {
        const int64_t place = places.of(static_cast<size_t>(run.stage), instruction);
        if (place < bad && !by_stage[static_cast<size_t>(run.stage)]->makes_finite(instruction)) bad = place;
      });
      await_sections();
    }
    finish();

    if (bad != kNone) bad = bad * world.size() + world.rank();
    world.all_reduce(&bad, 1, DType::i64, Reduce::min);
    return bad;
  }

  void forget_next_inputs() {
    for (const auto& stage : own) stage->values().forget_next_inputs();
  }

  /// Returns the first of this rank's stages for which `find_in(stage)`, which looks for a buffer by name, does not
  /// throw InvalidArgument, and the buffer. Throws the InvalidArgument of the last stage if all throw it.
  template <class Find>
  std::pair<StageExecutor*, int> find(const Find& find_in) const {
    for (const auto& stage : own) {
      try {
        return {stage.get(), find_in(*stage)};
      } catch (const InvalidArgument&) {
        if (stage == own.back()) throw;
      }
    }
    PARTITA_CHECK(false, "a rank without stages");
  }
  std::pair<StageExecutor*, int> with_output(std::string_view name) const {
    return find([&](const StageExecutor& stage) { return stage.named().output(name); });
  }
  std::pair<StageExecutor*, int> with_input(std::string_view name) const {
    return find([&](const StageExecutor& stage) { return stage.named().input(name); });
  }

  /// The lowest stage that has a state. Throws InvalidArgument if none has it.
  size_t owner_of(std::string_view name) const {
    for (size_t stage = 0; stage < stages.size(); ++stage) {
      if (stages[stage].local.graph.find_state(name) != nullptr) return stage;
    }
    NamedBuffers(stages[0].local, stages[0].schedule).state(name);  // throws, naming similar states
    return 0;
  }
};

Executor::Executor(const Pipeline& pipeline, const std::vector<StageProgram>& stages, const OpSet& ops, Device& device,
                   Communicator& world, const Executor* holder)
    : impl_(std::make_unique<Impl>(pipeline, stages, ops, device, world,
                                   holder != nullptr ? holder->impl_.get() : nullptr)) {}

Executor::Executor(const LocalGraph& local, const Schedule& schedule, const OpSet& ops, Device& device,
                   Communicator& world)
    : impl_(std::make_unique<Impl>(local, schedule, ops, device, world)) {}

Executor::~Executor() = default;

const std::vector<std::unique_ptr<StageExecutor>>& Executor::stages() const { return impl_->own; }

Type Executor::input_type(std::string_view name) const {
  const auto& [stage, buffer] = impl_->with_input(name);
  return stage->type_of(buffer);
}

void Executor::set_input(std::string_view name, ConstTensor part) {
  Box all;
  for (int64_t size : part.type.shape) all.push_back({0, size, size});
  set_input(name, part, all);
}

void Executor::set_input(std::string_view name, ConstTensor given, const Box& box, int64_t micro_batch) {
  const StageExecutor* first = impl_->with_input(name).first;
  for (const auto& stage : impl_->own) {
    const auto& inputs = stage->local().graph.inputs;
    const bool reads = std::ranges::any_of(
        inputs, [&](const Input& input) { return stage->local().graph.values[input.value].name == name; });
    if (reads || stage.get() == first) stage->set_input(name, given, box, micro_batch);
  }
}

void Executor::set_state(std::string_view name, const Array& whole) {
  impl_->owner_of(name);
  for (const auto& stage : impl_->own) {
    if (stage->local().graph.find_state(name) != nullptr) stage->set_state(name, whole);
  }
}

StatePart Executor::state_part(std::string_view name) const {
  for (const auto& stage : impl_->own) {
    if (stage->local().graph.find_state(name) != nullptr) return stage->state_part(name);
  }
  return impl_->own.front()->state_part(name);
}

Array Executor::state(std::string_view name) const {
  const size_t owner = impl_->owner_of(name);
  StageExecutor* stage = impl_->by_stage[owner];
  if (impl_->pipeline.groups.size() == 1) return stage->state(name);
  const Graph& graph = impl_->stages[owner].local.graph;
  Array whole = stage != nullptr ? stage->state(name) : Array(graph.type(graph.find_state(name)->entry));
  impl_->world.broadcast(whole.data(), whole.type().elements(), whole.type().dtype,
                         impl_->pipeline.group_of(static_cast<int>(owner)).first);
  return whole;
}

std::optional<Array> Executor::state_on_first(std::string_view name) const {
  const size_t owner = impl_->owner_of(name);
  const LocalGraph& local = impl_->stages[owner].local;
  const RankGroup& group = impl_->pipeline.group_of(static_cast<int>(owner));
  Communicator& world = impl_->world;
  const ValueId value = local.graph.find_state(name)->entry;
  const Type& type = local.graph.type(value);
  std::optional<Array> whole;
  if (world.rank() == 0) whole.emplace(type);
  for (int member = 0; member < group.count; ++member) {
    const int rank = group.first + member;
    const std::vector<int64_t> coordinates = local.mesh.coordinates(member);
    if (!owns_part(local.shardings[value], local.mesh, coordinates)) continue;
    if (world.rank() != 0 && world.rank() != rank) continue;
    Array part =
        rank == world.rank() ? impl_->by_stage[owner]->state_part(name).values : Array(local.type(value, coordinates));
    if (world.rank() != 0) {
      world.send(part.data(), part.type().elements(), type.dtype, /*to=*/0);
      continue;
    }
    if (rank != 0) world.recv(part.data(), part.type().elements(), type.dtype, rank);
    copy_back(part.data(), local_ranges(type, local.shardings[value], local.mesh, coordinates), whole->tensor());
  }
  return whole;
}

bool Executor::can_set_next_inputs() const {
  return impl_->own.size() == 1 && impl_->own.front()->can_set_next_inputs();
}

bool Executor::use_next_inputs() {
  bool uses = false;
  for (const auto& stage : impl_->own) uses = stage->values().use_next_inputs() || uses;
  return uses;
}

void Executor::forget_next_inputs() { impl_->forget_next_inputs(); }

size_t Executor::steps_in_flight() const { return impl_->steps_in_flight(); }

bool Executor::can_run_ahead() const { return impl_->own.size() == 1 && impl_->own.front()->values().can_run_ahead(); }

void Executor::begin_step(const std::function<void()>& meanwhile) {
  const HeldSignals held;
  impl_->with_output("loss");  // throws without one
  DeviceSubnormals threads(impl_->device);
  const Meanwhile calling(impl_->own.front()->values(), meanwhile);
  impl_->begin_step(threads, /*must_be_finite=*/true);
}

StepResult Executor::end_step() {
  const HeldSignals held;
  DeviceSubnormals threads(impl_->device);
  return impl_->end_step(threads);
}

std::optional<std::string> Executor::try_step(const std::function<void()>& meanwhile) {
  begin_step(meanwhile);
  return end_step().bad;
}

void Executor::step(const std::function<void()>& meanwhile) {
  if (const std::optional<std::string> bad = try_step(meanwhile)) {
    throw RuntimeFailure(ExitCode::non_finite, "[train] {}", *bad);
  }
}

void Executor::run() {
  const HeldSignals held;
  DeviceSubnormals threads(impl_->device);
  impl_->begin_step(threads, /*must_be_finite=*/false);
  if (impl_->guards_update()) {
    impl_->own.front()->values().await_step();
  } else {
    impl_->has_begun = false;
    impl_->run_update(threads);
    impl_->finish();
  }
}

Array Executor::output(std::string_view name) const {
  const auto& [stage, buffer] = impl_->with_output(name);
  return stage->read(buffer);
}

void Executor::bring_states() const {
  for (const auto& stage : impl_->own) stage->bring_states();
}

void Executor::keep_states_alone() {
  for (const auto& stage : impl_->own) stage->keep_states_alone();
}

int64_t Executor::arena_bytes() const {
  int64_t bytes = 0;
  for (const auto& stage : impl_->own) bytes += stage->schedule().arena_bytes;
  return bytes;
}

void Executor::record(Recorder& recorder, int64_t steps) { impl_->record(recorder, steps); }

void Executor::measure(bool on) {
  for (const auto& stage : impl_->own) stage->measure(on);
}

std::vector<std::pair<std::string, double>> Executor::measured() const {
  std::vector<std::pair<std::string, double>> result;
  for (const auto& stage : impl_->own) {
    for (size_t i = 0; i < stage->seconds().size(); ++i) {
      const Instruction& instruction = stage->schedule().instructions[i];
      const std::string node = instruction.node >= 0 ? stage->local().graph.nodes[instruction.node].name : "";
      const std::string what = instruction.kind == Instruction::compute   ? instruction.choice.kernel
                               : instruction.kind == Instruction::reorder ? "reorder"
                               : instruction.kind == Instruction::copy    ? "copy"
                                                                          : "communicate";
      result.emplace_back(what + " " + node, stage->seconds()[i]);
    }
  }
  return result;
}

}  // namespace partita

#include "runtime/execute/stage_executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/finite.h"
#include "runtime/execute/gather_value.h"
#include "runtime/execute/shard_copy.h"

namespace partita {

StageExecutor::StageExecutor(const LocalGraph& local, const Schedule& schedule, const OpSet& ops, Device& device,
                             Communicator& ranks, const StageExecutor* holder, const ProgramCuts& cuts)
    : local_(local),
      schedule_(schedule),
      device_(device),
      ranks_(ranks),
      buffers_(local, schedule, device, local.mesh.coordinates(ranks.rank()),
               holder == nullptr ? nullptr : &holder->buffers_),
      groups_(local.mesh, ranks),
      asynchronous_(local.mesh, ranks),
      spans_(local, schedule, buffers_) {
  PARTITA_CHECK(local.mesh.ranks() == ranks.size(), "a mesh of {} ranks on {} ranks", local.mesh.ranks(), ranks.size());
  device.enter_thread();
  if (holder != nullptr) {
    holder->bring_states();
    buffers_.take_states(holder->buffers_);
  }
  if (const Accelerator* accelerator = device.accelerator()) {
    values_ = std::make_unique<StagePrograms>(
        StagePrograms::Parts{local, schedule, ops, ranks.rank(), buffers_, *accelerator, device.collectives(), &ranks},
        cuts, holder == nullptr ? nullptr : holder->values_->on_device());
  } else {
    values_ = std::make_unique<HostValues>(buffers_);
  }
  StageBinder({.local = local,
               .schedule = schedule,
               .ops = ops,
               .device = device,
               .rank = ranks.rank(),
               .buffers = buffers_,
               .spans = spans_,
               .groups = groups_,
               .asynchronous = asynchronous_,
               .values = *values_},
              bound_)
      .bind_all();
}

void StageExecutor::run(size_t begin, size_t end, DeviceSubnormals& threads) {
  const bool is_last = buffers_.micro_batch() == local_.mesh.micro_batches() - 1;
  for (size_t i = begin; i < end; ++i) {
    if (schedule_.instructions[i].last && !is_last) continue;
    threads.set(bound_.subnormals[i]);
    measuring_ || spans_.recorder() != nullptr ? run_measured(i) : bound_.actions[i]();
    values_->ran(i);
  }
}

void StageExecutor::run_measured(size_t i) {
  Span span = spans_.of(i);
  if (!values_->has_span(i, span)) return bound_.actions[i]();
  values_->await(bound_.reads[i], buffers_.micro_batch());
  const Recorded recorded(spans_.recorder(), span);
  const auto start = std::chrono::steady_clock::now();
  bound_.actions[i]();
  if (measuring_) seconds_[i] += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool StageExecutor::makes_finite(size_t index) const {
  const Instruction& instruction = schedule_.instructions[index];
  if (instruction.kind != Instruction::compute) return true;
  if (local_.graph.nodes[instruction.node].phase == Phase::update) return true;
  return std::ranges::all_of(instruction.outputs, [&](int buffer) {
    const DType dtype = type_of(buffer).dtype;
    return are_finite(dtype, value_of(buffer, buffers_.micro_batch()),
                      bytes_in_use(buffer) / static_cast<int64_t>(size_of(dtype)));
  });
}

int64_t StageExecutor::bytes_in_use(int buffer) const {
  const MemoryFormat& format = schedule_.buffers[buffer].format;
  return format.plain() ? type_of(buffer).bytes() : device_.catalog().bytes(type_of(buffer), format);
}

void StageExecutor::set_input(std::string_view name, ConstTensor given, const Box& box, int64_t micro_batch) {
  const int buffer = buffers_.input_for(name, given, box, micro_batch);
  if (values_->takes_input(buffer, given, box)) return;
  copy_part(given, box, place_of(buffer, micro_batch));
  written(buffer, micro_batch);
}

void StageExecutor::set_next_input(std::string_view name, ConstTensor given, const Box& box) {
  PARTITA_CHECK(can_set_next_inputs(), "'{}' of the next step for a stage that cannot keep it", name);
  values_->set_next_input(buffers_.input_for(name, given, box, 0), given, box);
}

void StageExecutor::bring_states() const {
  for (const int entry : schedule_.entry) values_->on_host(entry, 0);
}

void StageExecutor::keep_states_alone() {
  values_->keep_states_alone();
  device_.discard(buffers_.at(schedule_.state_bytes), schedule_.arena_bytes - schedule_.state_bytes);
}

void StageExecutor::begin_step(bool must_be_finite) {
  std::ranges::fill(seconds_, 0);
  values_->begin_step(must_be_finite);
}

void StageExecutor::set_state(std::string_view name, const Array& whole) {
  const int buffer = named().state(name);
  const ValueId value = schedule_.buffers[buffer].value;
  const Type& expected = local_.graph.type(value);
  if (whole.type() != expected) {
    throw InvalidArgument(ErrorKind::type, "[executor] state '{}' does not fit, got {}, expected {}", name,
                          print(whole.type()), print(expected));
  }
  fill_state(name, [&](const Box& box, DType, void* to) { copy_part(whole.tensor(), box, to); });
}

void StageExecutor::fill_state(std::string_view name,
                               const std::function<void(const Box& box, DType dtype, void* to)>& fill) {
  const int index = named().state(name);
  const Buffer& buffer = schedule_.buffers[index];
  const Box box = state_box(name);
  const Type own = buffers_.type(buffer.value);
  if (buffer.format.plain()) {
    fill(box, own.dtype, buffers_.address(index));
    written(index, 0);
    return;
  }
  Array part(own);
  fill(box, own.dtype, part.data());
  const void* from = part.data();
  void* to = buffers_.address(index);
  device_.make_reorder(own, MemoryFormat{}, buffer.format)->run({&from, 1}, {&to, 1}, nullptr);
}

Box StageExecutor::state_box(std::string_view name) const {
  const ValueId value = schedule_.buffers[named().state(name)].value;
  return local_ranges(local_.graph.type(value), local_.shardings[value], local_.mesh, buffers_.coordinates());
}

StateReader StageExecutor::state_reader(std::string_view name) const {
  const int index = named().state(name);
  const Buffer& buffer = schedule_.buffers[index];
  const Type own = buffers_.type(buffer.value);
  return {state_box(name), own.dtype, buffers_.address(index),
          buffer.format.plain() ? nullptr : device_.make_row_reader(own, buffer.format)};
}

StatePart StageExecutor::state_part(std::string_view name) const {
  const int index = named().state(name);
  const Buffer& buffer = schedule_.buffers[index];
  StatePart part{.box = state_box(name),
                 .values = Array(buffers_.type(buffer.value)),
                 .owned = owns_part(local_.shardings[buffer.value], local_.mesh, buffers_.coordinates())};
  const void* from = value_of(index, 0);
  void* to = part.values.data();
  device_.make_reorder(part.values.type(), buffer.format, MemoryFormat{})->run({&from, 1}, {&to, 1}, nullptr);
  return part;
}

Array StageExecutor::state(std::string_view name) {
  const ValueId value = schedule_.buffers[named().state(name)].value;
  StatePart part = state_part(name);
  if (local_.shardings[value].replicated()) return std::move(part.values);
  return gather_value(local_, value, part.values, groups_, ranks_.rank());
}

Array StageExecutor::read(int buffer) const {
  Array result(type_of(buffer));
  std::memcpy(result.data(), value_of(buffer, buffers_.micro_batch()), result.type().bytes());
  return result;
}

void StageExecutor::measure(bool on) {
  measuring_ = on;
  seconds_.assign(bound_.actions.size(), 0);
}

}  // namespace partita

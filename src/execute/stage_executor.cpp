#include "execute/stage_executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/finite.h"
#include "execute/gather_value.h"
#include "execute/shard_copy.h"
#include "partition/collectives.h"

namespace partita {

StageExecutor::StageExecutor(const LocalGraph& local, const Schedule& schedule, const OpSet& ops, Device& device,
                             Communicator& ranks, const StageExecutor* holder)
    : local_(local),
      schedule_(schedule),
      rules_(local.graph, ops),
      device_(device),
      ranks_(ranks),
      coordinates_(local.mesh.coordinates(ranks.rank())),
      named_(local, schedule),
      arena_(device.allocate(schedule.arena_bytes)),
      groups_(local.mesh, ranks),
      asynchronous_(local.mesh, ranks) {
  PARTITA_CHECK(local.mesh.ranks() == ranks.size(), "a mesh of {} ranks on {} ranks", local.mesh.ranks(), ranks.size());
  device.enter_thread();
  PARTITA_CHECK(holder != nullptr || schedule.external_bytes == 0, "{} has states elsewhere, and no executor with them",
                local.graph.name);
  find_copies(holder);
  if (holder != nullptr) take_states(*holder);
  for (const Instruction& instruction : schedule.instructions) {
    bind(instruction);
    // A collective reduces as its element type asks for, whichever thread does it (comm/reduce_kernels.h).
    const bool computes = instruction.kind == Instruction::compute || instruction.kind == Instruction::accumulate;
    subnormals_.push_back(computes ? subnormals_of(local.graph, local.graph.nodes[instruction.node]) : std::nullopt);
  }
}

void StageExecutor::find_copies(const StageExecutor* holder) {
  std::unordered_map<int, char*> external;  // by the buffer of the state
  for (const int entry : schedule_.entry) {
    if (!schedule_.is_external(entry)) continue;
    const Buffer& buffer = schedule_.buffers[entry];
    const std::string& name = local_.graph.values[buffer.value].name;
    const int held = holder->named_.state(name);
    PARTITA_CHECK(holder->type_of(held) == type_of(entry) && holder->schedule_.buffers[held].format == buffer.format,
                  "state {} lies otherwise in the executor that holds it", name);
    external.emplace(entry, holder->bases_[held]);
  }
  std::vector<bool> is_fed(schedule_.buffers.size(), false);  // all its copies are there, and are loaded
  for (size_t i = 0; i < schedule_.inputs.size(); ++i) {
    is_fed[schedule_.inputs[i]] = local_.graph.inputs[i].from_stage < 0;
  }
  roots_ = roots_of(schedule_);
  for (size_t s = 0; s < schedule_.buffers.size(); ++s) {
    const Buffer& buffer = schedule_.buffers[s];
    bases_.push_back(schedule_.is_external(static_cast<int>(s)) ? external.at(roots_[s]) : at(buffer.offset));
    if (schedule_.buffers[roots_[s]].copies > 1 && !is_fed[roots_[s]]) copied_.push_back(static_cast<int>(s));
  }
  addresses_ = bases_;
}

void StageExecutor::take_states(const StageExecutor& holder) {
  for (const int entry : schedule_.entry) {
    if (schedule_.is_external(entry)) continue;
    const Buffer& buffer = schedule_.buffers[entry];
    const int held = holder.named_.state(local_.graph.values[buffer.value].name);
    const void* from = holder.bases_[held];
    void* to = bases_[entry];
    device_.make_reorder(type_of(entry), holder.schedule_.buffers[held].format, buffer.format)
        ->run({&from, 1}, {&to, 1}, nullptr);
  }
}

char* StageExecutor::copy_of(int buffer, int64_t micro_batch) const {
  const Buffer& root = schedule_.buffers[roots_[buffer]];
  return bases_[buffer] + micro_batch % root.copies * aligned(root.bytes);
}

void StageExecutor::begin(int64_t micro_batch) {
  micro_batch_ = micro_batch;
  for (const int buffer : copied_) addresses_[buffer] = copy_of(buffer, micro_batch);
}

void StageExecutor::bind(const Instruction& instruction) {
  switch (instruction.kind) {
    case Instruction::compute: return bind_compute(instruction);
    case Instruction::reorder: return bind_reorder(instruction);
    case Instruction::copy: {
      const int from = instruction.inputs[0], to = instruction.outputs[0];
      actions_.push_back([this, from, to, bytes = schedule_.buffers[from].bytes] {
        std::memcpy(addresses_[to], addresses_[from], bytes);
      });
      return;
    }
    case Instruction::load: {
      const int from = instruction.inputs[0], to = instruction.outputs[0];
      actions_.push_back([this, from, to, bytes = schedule_.buffers[from].bytes] {
        std::memcpy(addresses_[to], addresses_[from] + micro_batch_ * aligned(bytes), bytes);
      });
      return;
    }
    case Instruction::accumulate: return bind_accumulate(instruction);
    case Instruction::collective: return bind_collective(instruction);
    default: return bind_bucket(instruction);
  }
}

void StageExecutor::bind_compute(const Instruction& instruction) {
  const Node& node = local_.graph.nodes[instruction.node];
  KernelQuery query{.op = node.op, .attrs = attrs_in(instruction.node, 0)};
  for (ValueId input : node.inputs) query.inputs.push_back(type(input));
  for (ValueId output : node.outputs) query.outputs.push_back(type(output));
  query.input_formats = instruction.choice.inputs;
  std::vector<std::unique_ptr<Kernel>> made;
  made.push_back(device_.make_kernel(query, instruction.choice));
  const int64_t count = local_.mesh.micro_batches();
  const bool differ = count > 1 && attrs_in(instruction.node, count - 1).print() != query.attrs.print();
  for (int64_t m = 1; m < count && differ; ++m) {  // as dropout, with other random numbers in each micro-batch
    query.attrs = attrs_in(instruction.node, m);
    made.push_back(device_.make_kernel(query, instruction.choice));
  }
  add_kernel(std::move(made), instruction);
}

Attrs StageExecutor::attrs_in(NodeId node, int64_t micro) const {
  return local_.attrs(node, local_.mesh.coordinates(ranks_.rank(), micro), rules_);
}

void StageExecutor::bind_accumulate(const Instruction& instruction) {
  const Reduce reduce = local_.graph.nodes[instruction.node].attrs.as<CollectiveAttrs>().reduce;
  const Type sum = type_of(instruction.outputs[0]);
  KernelQuery query{.op = accumulating_op(reduce), .inputs = {sum, sum}, .outputs = {sum}};
  query.input_formats = instruction.choice.inputs;
  kernels_.push_back(device_.make_kernel(query, instruction.choice));
  const int given = instruction.inputs[0], to = instruction.outputs[0];
  actions_.push_back([this, kernel = kernels_.back().get(), given, to, scratch = at(schedule_.scratch_offset),
                      bytes = schedule_.buffers[to].bytes] {
    void* sum = addresses_[to];
    if (micro_batch_ == 0) {
      std::memcpy(sum, addresses_[given], bytes);
      return;
    }
    const std::array<const void*, 2> inputs{sum, addresses_[given]};
    kernel->run(inputs, {&sum, 1}, scratch);
  });
}

void StageExecutor::bind_reorder(const Instruction& instruction) {
  const Buffer &from = schedule_.buffers[instruction.inputs[0]], &to = schedule_.buffers[instruction.outputs[0]];
  std::vector<std::unique_ptr<Kernel>> made;
  made.push_back(device_.make_reorder(type(from.value), from.format, to.format));
  add_kernel(std::move(made), instruction);
}

void StageExecutor::bind_collective(const Instruction& instruction) {
  const Node& node = local_.graph.nodes[instruction.node];
  if (!is_local(*collective_of(node))) groups_.add(axes_of(node, local_.mesh));
  actions_.push_back(partita::bind_collective(local_, instruction.node, ranks_.rank(), collective_buffers(instruction),
                                              groups_, micro_batch_));
}

CollectiveBuffers StageExecutor::collective_buffers(const Instruction& instruction) const {
  return {.input = &addresses_[instruction.inputs[0]],
          .output = &addresses_[instruction.outputs[0]],
          .bytes = schedule_.buffers[instruction.inputs[0]].bytes,
          .scratch = at(schedule_.scratch_offset),
          .scratch_bytes = schedule_.scratch_bytes};
}

/// One kernel for all micro-batches, or one for each.
void StageExecutor::add_kernel(std::vector<std::unique_ptr<Kernel>> made, const Instruction& instruction) {
  Operands operands{.inputs = instruction.inputs,
                    .outputs = instruction.outputs,
                    .from = std::vector<const void*>(instruction.inputs.size()),
                    .to = std::vector<void*>(instruction.outputs.size())};
  actions_.push_back([this, first = kernels_.size(), several = made.size() > 1, operands = std::move(operands),
                      scratch = at(schedule_.scratch_offset)]() mutable {
    for (size_t i = 0; i < operands.inputs.size(); ++i) operands.from[i] = addresses_[operands.inputs[i]];
    for (size_t k = 0; k < operands.outputs.size(); ++k) operands.to[k] = addresses_[operands.outputs[k]];
    kernels_[several ? first + static_cast<size_t>(micro_batch_) : first]->run(operands.from, operands.to, scratch);
  });
  for (auto& kernel : made) kernels_.push_back(std::move(kernel));
}

/// Of a bucket, or asynchronously of a node.
void StageExecutor::bind_bucket(const Instruction& instruction) {
  const std::pair message{instruction.bucket, instruction.bucket < 0 ? instruction.node : -1};
  if (instruction.kind == Instruction::wait) return bind_wait(message);
  if (instruction.bucket < 0) {
    asynchronous_.add(axes_of(local_.graph.nodes[instruction.node], local_.mesh));
    return bind_start(message, partita::bind_collective(local_, instruction.node, ranks_.rank(),
                                                        collective_buffers(instruction), asynchronous_, micro_batch_));
  }
  const Bucket& bucket = schedule_.buckets[instruction.bucket];
  Groups& chosen = instruction.kind == Instruction::start ? asynchronous_ : groups_;
  chosen.add(bucket.axes);
  const auto reduce = [&group = chosen.at(bucket.axes), data = at(bucket.offset), dtype = bucket.dtype,
                       count = bucket.bytes / static_cast<int64_t>(size_of(bucket.dtype)),
                       kind = bucket.reduce] { group.all_reduce(data, count, dtype, kind); };
  if (instruction.kind == Instruction::start) return bind_start(message, reduce);
  actions_.push_back(reduce);
}

void StageExecutor::bind_start(std::pair<int, NodeId> message, std::function<void()> communicate) {
  if (!comm_thread_) comm_thread_ = std::make_unique<CommThread>();
  actions_.push_back([this, &job = messages_[message], communicate = std::move(communicate), index = actions_.size()] {
    Span span = span_of(index);
    span.thread = comm_thread_number_;
    job = comm_thread_->start([this, &communicate, span] {
      const Recorded recorded(recorder_, span);
      communicate();
    });
  });
}

void StageExecutor::bind_wait(std::pair<int, NodeId> message) {
  actions_.push_back([this, &job = messages_[message]] { comm_thread_->wait(job); });
}

void StageExecutor::run(size_t begin, size_t end, DeviceSubnormals& threads) {
  const bool is_last = micro_batch_ == local_.mesh.micro_batches() - 1;
  for (size_t i = begin; i < end; ++i) {
    if (schedule_.instructions[i].last && !is_last) continue;
    threads.set(subnormals_[i]);
    if (!measuring_ && recorder_ == nullptr) {
      actions_[i]();
      continue;
    }
    const Recorded recorded(recorder_, span_of(i));
    const auto start = std::chrono::steady_clock::now();
    actions_[i]();
    if (measuring_) seconds_[i] += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
}

Span StageExecutor::span_of(size_t index) const {
  return {.kind = Span::instruction,
          .stage = stage_,
          .index = static_cast<int32_t>(index),
          .micro_batch = static_cast<int32_t>(micro_batch_),
          .exposed = is_exposed(schedule_.instructions[index])};
}

bool StageExecutor::is_exposed(const Instruction& instruction) const {
  if (instruction.kind != Instruction::collective) {
    return instruction.kind == Instruction::reduce || instruction.kind == Instruction::wait;
  }
  return !is_local(*collective_of(local_.graph.nodes[instruction.node]));
}

void StageExecutor::record(Recorder* recorder, int stage, int thread) {
  recorder_ = recorder;
  stage_ = stage;
  comm_thread_number_ = thread;
}

bool StageExecutor::makes_finite(size_t index) const {
  const Instruction& instruction = schedule_.instructions[index];
  if (instruction.kind != Instruction::compute) return true;
  if (local_.graph.nodes[instruction.node].phase != Phase::forward) return true;
  return std::all_of(instruction.outputs.begin(), instruction.outputs.end(), [&](int buffer) {
    const DType dtype = type_of(buffer).dtype;
    return are_finite(dtype, addresses_[buffer], bytes_in_use(buffer) / static_cast<int64_t>(size_of(dtype)));
  });
}

int64_t StageExecutor::bytes_in_use(int buffer) const {
  const MemoryFormat& format = schedule_.buffers[buffer].format;
  return format.plain() ? type_of(buffer).bytes() : device_.catalog().bytes(type_of(buffer), format);
}

void StageExecutor::set_input(std::string_view name, ConstTensor given, const std::vector<Range>& box,
                              int64_t micro_batch) {
  const int buffer = named_.input(name);
  const Type expected = type_of(buffer);
  Type part{given.type.dtype, {}};
  for (const Range& range : box) part.shape.push_back(range.count());
  if (part != expected) {
    throw InvalidArgument(
        fmt::format("[executor] input '{}' does not fit, got {}, expected {}", name, print(part), print(expected)),
        ErrorKind::type);
  }
  for (size_t d = 0; d < box.size(); ++d) {
    const int64_t size = d < given.type.shape.size() ? given.type.shape[d] : 0;
    PARTITA_CHECK(
        box.size() == given.type.shape.size() && box[d].size == size && box[d].begin >= 0 && box[d].end <= size,
        "a box of input '{}' lies outside of {}", name, print(given.type));
  }
  const Buffer& copies = schedule_.buffers[buffer];
  PARTITA_CHECK(micro_batch >= 0 && micro_batch < copies.copies, "micro-batch {} of {}", micro_batch, copies.copies);
  copy_part(given, box, copy_of(buffer, micro_batch));
}

void StageExecutor::set_state(std::string_view name, const Array& whole) {
  const int buffer = named_.state(name);
  const ValueId value = schedule_.buffers[buffer].value;
  const Type& expected = local_.graph.type(value);
  if (whole.type() != expected) {
    throw InvalidArgument(fmt::format("[executor] state '{}' does not fit, got {}, expected {}", name,
                                      print(whole.type()), print(expected)),
                          ErrorKind::type);
  }
  fill_state(name, [&](const std::vector<Range>& box, DType, void* to) { copy_part(whole.tensor(), box, to); });
}

void StageExecutor::fill_state(std::string_view name,
                               const std::function<void(const std::vector<Range>& box, DType dtype, void* to)>& fill) {
  const int index = named_.state(name);
  const Buffer& buffer = schedule_.buffers[index];
  const std::vector<Range> box = state_box(name);
  const Type own = type(buffer.value);
  if (buffer.format.plain()) return fill(box, own.dtype, addresses_[index]);
  Array part(own);
  fill(box, own.dtype, part.data());
  const void* from = part.data();
  void* to = addresses_[index];
  device_.make_reorder(own, MemoryFormat{}, buffer.format)->run({&from, 1}, {&to, 1}, nullptr);
}

std::vector<Range> StageExecutor::state_box(std::string_view name) const {
  const ValueId value = schedule_.buffers[named_.state(name)].value;
  return local_ranges(local_.graph.type(value), local_.shardings[value], local_.mesh, coordinates_);
}

StateReader StageExecutor::state_reader(std::string_view name) const {
  const int index = named_.state(name);
  const Buffer& buffer = schedule_.buffers[index];
  const Type own = type(buffer.value);
  return {state_box(name), own.dtype, addresses_[index],
          buffer.format.plain() ? nullptr : device_.make_row_reader(own, buffer.format)};
}

StatePart StageExecutor::state_part(std::string_view name) const {
  const int index = named_.state(name);
  const Buffer& buffer = schedule_.buffers[index];
  StatePart part{.box = state_box(name),
                 .values = Array(type(buffer.value)),
                 .owned = owns_part(local_.shardings[buffer.value], local_.mesh, coordinates_)};
  const void* from = addresses_[index];
  void* to = part.values.data();
  device_.make_reorder(part.values.type(), buffer.format, MemoryFormat{})->run({&from, 1}, {&to, 1}, nullptr);
  return part;
}

Array StageExecutor::state(std::string_view name) {
  const ValueId value = schedule_.buffers[named_.state(name)].value;
  StatePart part = state_part(name);
  if (local_.shardings[value].replicated()) return std::move(part.values);
  return gather_value(local_, value, part.values, groups_, ranks_.rank());
}

Array StageExecutor::read(int buffer) const {
  Array result(type_of(buffer));
  std::memcpy(result.data(), addresses_[buffer], result.type().bytes());
  return result;
}

void StageExecutor::measure(bool on) {
  measuring_ = on;
  seconds_.assign(actions_.size(), 0);
}

}  // namespace partita

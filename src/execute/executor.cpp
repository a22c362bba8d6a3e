#include "execute/executor.h"

#include <chrono>
#include <cmath>
#include <cstring>

#include "execute/comm_thread.h"
#include "execute/gather_value.h"
#include "execute/groups.h"
#include "execute/named_buffers.h"
#include "execute/run_collective.h"
#include "execute/shard_copy.h"
#include "execute/subnormals.h"
#include "partition/collectives.h"

namespace partita {
namespace {

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

bool all_finite(DType dtype, const void* data, int64_t bytes) {
  bool finite = true;
  for_float(dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* values = static_cast<const T*>(data);
    for (int64_t i = 0; i < bytes / static_cast<int64_t>(sizeof(T)); ++i) {
      finite = finite && std::isfinite(static_cast<double>(values[i]));
    }
  });
  return finite;
}

}  // namespace

struct Executor::Impl {
  const LocalGraph& local;
  const Schedule& schedule;
  const Rules rules;
  Device& device;
  Communicator& world;
  std::vector<int64_t> coordinates;
  const NamedBuffers named;
  std::shared_ptr<void> arena;
  Groups groups, asynchronous;  // asynchronous: those of the communication thread
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<std::function<void()>> actions;
  std::vector<std::optional<Subnormals>> subnormals;  // per action
  std::vector<double> seconds;                        // per action, when measuring
  bool measuring = false;
  int64_t micro_batch = 0;  // that runs
  std::unique_ptr<CommThread> comm_thread;

  Impl(const LocalGraph& local_graph, const Schedule& made, const OpSet& op_set, Device& where, Communicator& ranks)
      : local(local_graph),
        schedule(made),
        rules(local_graph.graph, op_set),
        device(where),
        world(ranks),
        coordinates(local.mesh.coordinates(ranks.rank())),
        named(local_graph, made),
        arena(device.allocate(made.arena_bytes)),
        groups(local.mesh, ranks),
        asynchronous(local.mesh, ranks) {
    PARTITA_CHECK(local.mesh.ranks() == ranks.size(), "a mesh of {} ranks on {} ranks", local.mesh.ranks(),
                  ranks.size());
    device.enter_thread();
    for (const Instruction& instruction : schedule.instructions) {
      bind(instruction);
      // A collective reduces as its element type asks for, whichever thread does it (comm/reduce_kernels.h).
      const bool computes = instruction.kind == Instruction::compute || instruction.kind == Instruction::accumulate;
      subnormals.push_back(computes ? subnormals_of(local.graph, local.graph.nodes[instruction.node]) : std::nullopt);
    }
  }

  char* at(int64_t offset) const { return static_cast<char*>(arena.get()) + offset; }
  char* data(int buffer) const { return at(schedule.buffers[buffer].offset); }
  Type type(ValueId value) const { return local.type(value, coordinates); }

  void bind(const Instruction& instruction) {
    switch (instruction.kind) {
      case Instruction::compute: return bind_compute(instruction);
      case Instruction::reorder: return bind_reorder(instruction);
      case Instruction::copy: {
        const void* from = data(instruction.inputs[0]);
        void* to = data(instruction.outputs[0]);
        const int64_t bytes = schedule.buffers[instruction.inputs[0]].bytes;
        actions.push_back([=] { std::memcpy(to, from, bytes); });
        return;
      }
      case Instruction::load: {
        const Buffer& copies = schedule.buffers[instruction.inputs[0]];
        const char* from = data(instruction.inputs[0]);
        void* to = data(instruction.outputs[0]);
        actions.push_back(
            [this, from, to, bytes = copies.bytes] { std::memcpy(to, from + micro_batch * aligned(bytes), bytes); });
        return;
      }
      case Instruction::accumulate: return bind_accumulate(instruction);
      case Instruction::collective: {
        const Node& node = local.graph.nodes[instruction.node];
        if (!is_local(*collective_of(node))) groups.add(axes_of(node, local.mesh));
        const CollectiveBuffers buffers{.input = data(instruction.inputs[0]),
                                        .output = data(instruction.outputs[0]),
                                        .bytes = schedule.buffers[instruction.inputs[0]].bytes,
                                        .scratch = at(schedule.scratch_offset),
                                        .scratch_bytes = schedule.scratch_bytes};
        actions.push_back(bind_collective(local, instruction.node, world.rank(), buffers, groups, micro_batch));
        return;
      }
      default: return bind_bucket(instruction);
    }
  }

  void bind_compute(const Instruction& instruction) {
    const Node& node = local.graph.nodes[instruction.node];
    KernelQuery query{.op = node.op, .attrs = attrs_in(instruction.node, 0)};
    for (ValueId input : node.inputs) query.inputs.push_back(type(input));
    for (ValueId output : node.outputs) query.outputs.push_back(type(output));
    query.input_formats = instruction.choice.inputs;
    std::vector<std::unique_ptr<Kernel>> made;
    made.push_back(device.make_kernel(query, instruction.choice));
    const int64_t count = local.mesh.micro_batches();
    const bool differ = count > 1 && attrs_in(instruction.node, count - 1).print() != query.attrs.print();
    for (int64_t m = 1; m < count && differ; ++m) {  // as dropout, with other random numbers in each micro-batch
      query.attrs = attrs_in(instruction.node, m);
      made.push_back(device.make_kernel(query, instruction.choice));
    }
    add_kernel(std::move(made), instruction);
  }

  Attrs attrs_in(NodeId node, int64_t micro) const {
    return local.attrs(node, local.mesh.coordinates(world.rank(), micro), rules);
  }

  void bind_accumulate(const Instruction& instruction) {
    const Reduce reduce = local.graph.nodes[instruction.node].attrs.as<CollectiveAttrs>().reduce;
    const Type sum = schedule_type(instruction.outputs[0]);
    KernelQuery query{.op = accumulating_op(reduce), .inputs = {sum, sum}, .outputs = {sum}};
    query.input_formats = instruction.choice.inputs;
    kernels.push_back(device.make_kernel(query, instruction.choice));
    const void* given = data(instruction.inputs[0]);
    void* to = data(instruction.outputs[0]);
    actions.push_back([this, kernel = kernels.back().get(), given, to, scratch = at(schedule.scratch_offset),
                       bytes = schedule.buffers[instruction.outputs[0]].bytes] {
      if (micro_batch == 0) {
        std::memcpy(to, given, bytes);
        return;
      }
      const std::array<const void*, 2> inputs{to, given};
      kernel->run(inputs, {&to, 1}, scratch);
    });
  }

  void bind_reorder(const Instruction& instruction) {
    const Buffer &from = schedule.buffers[instruction.inputs[0]], &to = schedule.buffers[instruction.outputs[0]];
    std::vector<std::unique_ptr<Kernel>> made;
    made.push_back(device.make_reorder(type(from.value), from.format, to.format));
    add_kernel(std::move(made), instruction);
  }

  /// One kernel for all micro-batches, or one for each.
  void add_kernel(std::vector<std::unique_ptr<Kernel>> made, const Instruction& instruction) {
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    for (int buffer : instruction.inputs) inputs.push_back(data(buffer));
    for (int buffer : instruction.outputs) outputs.push_back(data(buffer));
    actions.push_back([this, first = kernels.size(), several = made.size() > 1, inputs = std::move(inputs),
                       outputs = std::move(outputs), scratch = at(schedule.scratch_offset)] {
      kernels[several ? first + static_cast<size_t>(micro_batch) : first]->run(inputs, outputs, scratch);
    });
    for (auto& kernel : made) kernels.push_back(std::move(kernel));
  }

  void bind_bucket(const Instruction& instruction) {
    const Bucket& bucket = schedule.buckets[instruction.bucket];
    if (instruction.kind == Instruction::wait) {
      actions.push_back([this] { comm_thread->wait(); });
      return;
    }
    Groups& chosen = instruction.kind == Instruction::start ? asynchronous : groups;
    chosen.add(bucket.axes);
    const auto reduce = [&group = chosen.at(bucket.axes), data = at(bucket.offset), dtype = bucket.dtype,
                         count = bucket.bytes / static_cast<int64_t>(size_of(bucket.dtype)),
                         kind = bucket.reduce] { group.all_reduce(data, count, dtype, kind); };
    if (instruction.kind == Instruction::reduce) {
      actions.push_back(reduce);
      return;
    }
    if (!comm_thread) comm_thread = std::make_unique<CommThread>();
    actions.push_back([this, reduce] { comm_thread->start(reduce); });
  }

  void run(size_t i, DeviceSubnormals& threads) {
    threads.set(subnormals[i]);
    actions[i]();
  }

  /// Calls visit(instruction) for all that runs before the update, in its order, for each micro-batch again.
  template <class Visit>
  void before_update(const Visit& visit) {
    const int64_t count = local.mesh.micro_batches();
    for (size_t i = 0; i < schedule.micro_begin(); ++i) visit(i);
    for (micro_batch = 0; micro_batch < count && schedule.micro_begin() < schedule.micro_end(); ++micro_batch) {
      for (size_t i = schedule.micro_begin(); i < schedule.micro_end(); ++i) {
        if (!schedule.instructions[i].last || micro_batch == count - 1) visit(i);
      }
    }
    micro_batch = 0;
    for (size_t i = schedule.micro_end(); i < schedule.update(); ++i) visit(i);
  }

  void run_before_update(DeviceSubnormals& threads) {
    std::fill(seconds.begin(), seconds.end(), 0);
    before_update([&](size_t i) { run_measured(i, threads); });
  }

  void run_update(DeviceSubnormals& threads) {
    for (size_t i = schedule.update(); i < actions.size(); ++i) run_measured(i, threads);
  }

  void run_measured(size_t i, DeviceSubnormals& threads) {
    if (!measuring) return run(i, threads);
    const auto start = std::chrono::steady_clock::now();
    run(i, threads);
    seconds[i] += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  void check_loss(DeviceSubnormals& threads) {
    const int buffer = named.output("loss");
    if (all_finite(schedule_type(buffer).dtype, data(buffer), schedule_type(buffer).bytes())) return;
    const Array loss = read(buffer);
    const std::string place = describe(first_bad(threads));
    throw RuntimeFailure(
        ExitCode::non_finite,
        fmt::format("[train] the loss is not finite, got {}, expected a number: {}", loss.at(0), place));
  }

  Type schedule_type(int buffer) const { return type(schedule.buffers[buffer].value); }

  Array read(int buffer) const {
    Array result(schedule_type(buffer));
    std::memcpy(result.data(), data(buffer), result.type().bytes());
    return result;
  }

  /// Replays forward and backward on the same inputs (no state has changed) and returns the first
  /// instruction of the forward, over all ranks, that made a non-finite result; kNone: none did.
  int64_t first_bad(DeviceSubnormals& threads) {
    int64_t bad = kNone;
    before_update([&](size_t i) {
      run(i, threads);
      const Instruction& instruction = schedule.instructions[i];
      if (bad != kNone || instruction.kind != Instruction::compute) return;
      if (local.graph.nodes[instruction.node].phase != Phase::forward) return;
      for (int buffer : instruction.outputs) {
        const DType dtype = schedule_type(buffer).dtype;
        if (is_float(dtype) && !all_finite(dtype, data(buffer), bytes_in_use(buffer))) bad = static_cast<int64_t>(i);
      }
    });
    world.all_reduce(&bad, 1, DType::i64, Reduce::min);
    return bad;
  }

  int64_t bytes_in_use(int buffer) const {
    const MemoryFormat& format = schedule.buffers[buffer].format;
    return format.plain() ? schedule_type(buffer).bytes() : device.catalog().bytes(schedule_type(buffer), format);
  }

  std::string describe(int64_t instruction) const {
    if (instruction == kNone) return "every node of the forward was finite when it was replayed";
    const Node& node = local.graph.nodes[schedule.instructions[instruction].node];
    return fmt::format("first made by {} ({}{}{})", node.name, node.op, node.scope.empty() ? "" : " in " + node.scope,
                       node.source.file.empty() ? "" : fmt::format(" at {}:{}", node.source.file, node.source.line));
  }
};

Executor::Executor(const LocalGraph& local, const Schedule& schedule, const OpSet& ops, Device& device,
                   Communicator& communicator)
    : impl_(std::make_unique<Impl>(local, schedule, ops, device, communicator)) {}

Executor::~Executor() = default;

Type Executor::input_type(std::string_view name) const { return impl_->schedule_type(impl_->named.input(name)); }
Type Executor::output_type(std::string_view name) const { return impl_->schedule_type(impl_->named.output(name)); }

void Executor::set_input(std::string_view name, ConstTensor part) {
  std::vector<Range> all;
  for (int64_t size : part.type.shape) all.push_back({0, size, size});
  set_input(name, part, all);
}

void Executor::set_input(std::string_view name, ConstTensor given, const std::vector<Range>& box, int64_t micro_batch) {
  const int buffer = impl_->named.input(name);
  const Type expected = impl_->schedule_type(buffer);
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
  const Buffer& copies = impl_->schedule.buffers[buffer];
  PARTITA_CHECK(micro_batch >= 0 && micro_batch < copies.copies, "micro-batch {} of {}", micro_batch, copies.copies);
  copy_part(given, box, impl_->data(buffer) + micro_batch * aligned(copies.bytes));
}

void Executor::set_state(std::string_view name, const Array& whole) {
  const int buffer = impl_->named.state(name);
  const ValueId value = impl_->schedule.buffers[buffer].value;
  const Type& expected = impl_->local.graph.type(value);
  if (whole.type() != expected) {
    throw InvalidArgument(fmt::format("[executor] state '{}' does not fit, got {}, expected {}", name,
                                      print(whole.type()), print(expected)),
                          ErrorKind::type);
  }
  Array part(impl_->type(value));
  copy_part(whole.tensor(),
            local_ranges(expected, impl_->local.shardings[value], impl_->local.mesh, impl_->coordinates), part.data());
  const void* from = part.data();
  void* to = impl_->data(buffer);
  impl_->device.make_reorder(part.type(), MemoryFormat{}, impl_->schedule.buffers[buffer].format)
      ->run({&from, 1}, {&to, 1}, nullptr);
}

StatePart Executor::state_part(std::string_view name) const {
  const Buffer& buffer = impl_->schedule.buffers[impl_->named.state(name)];
  const LocalGraph& local = impl_->local;
  const Sharding& sharding = local.shardings[buffer.value];
  StatePart part{.box = local_ranges(local.graph.type(buffer.value), sharding, local.mesh, impl_->coordinates),
                 .values = Array(impl_->type(buffer.value)),
                 .owned = owns_part(sharding, local.mesh, impl_->coordinates)};
  const void* from = impl_->at(buffer.offset);
  void* to = part.values.data();
  impl_->device.make_reorder(part.values.type(), buffer.format, MemoryFormat{})->run({&from, 1}, {&to, 1}, nullptr);
  return part;
}

Array Executor::state(std::string_view name) const {
  const ValueId value = impl_->schedule.buffers[impl_->named.state(name)].value;
  StatePart part = state_part(name);
  if (impl_->local.shardings[value].replicated()) return std::move(part.values);
  return gather_value(impl_->local, value, part.values, impl_->groups, impl_->world.rank());
}

void Executor::step() {
  DeviceSubnormals threads(impl_->device);
  impl_->run_before_update(threads);
  impl_->check_loss(threads);
  impl_->run_update(threads);
}

void Executor::run() {
  DeviceSubnormals threads(impl_->device);
  impl_->run_before_update(threads);
  impl_->run_update(threads);
}

Array Executor::output(std::string_view name) const { return impl_->read(impl_->named.output(name)); }

int64_t Executor::arena_bytes() const { return impl_->schedule.arena_bytes; }

void Executor::measure(bool on) {
  impl_->measuring = on;
  impl_->seconds.assign(impl_->actions.size(), 0);
}

std::vector<std::pair<std::string, double>> Executor::measured() const {
  std::vector<std::pair<std::string, double>> result;
  for (size_t i = 0; i < impl_->seconds.size(); ++i) {
    const Instruction& instruction = impl_->schedule.instructions[i];
    const std::string node = instruction.node >= 0 ? impl_->local.graph.nodes[instruction.node].name : "";
    const std::string what = instruction.kind == Instruction::compute   ? instruction.choice.kernel
                             : instruction.kind == Instruction::reorder ? "reorder"
                             : instruction.kind == Instruction::copy    ? "copy"
                                                                        : "communicate";
    result.emplace_back(what + " " + node, impl_->seconds[i]);
  }
  return result;
}

}  // namespace partita

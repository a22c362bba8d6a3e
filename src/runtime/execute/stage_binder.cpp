#include "runtime/execute/stage_binder.h"

#include <array>
#include <cstring>

#include "compiler/partition/collectives.h"
#include "runtime/comm/round_bf16.h"

namespace partita {
namespace {

/// Operands of a kernel. Their addresses are looked up when the action runs.
struct Operands {
  std::vector<int> inputs, outputs;
  std::vector<const void*> from;
  std::vector<void*> to;
};

}  // namespace

StageBinder::StageBinder(const Parts& parts, BoundStage& bound)
    : local_(parts.local),
      schedule_(parts.schedule),
      rules_(parts.local.graph, parts.ops),
      device_(parts.device),
      rank_(parts.rank),
      buffers_(parts.buffers),
      spans_(parts.spans),
      groups_(parts.groups),
      asynchronous_(parts.asynchronous),
      values_(parts.values),
      bound_(bound) {}

void StageBinder::bind_all() {
  for (size_t i = 0; i < schedule_.instructions.size(); ++i) {
    const Instruction& instruction = schedule_.instructions[i];
    if (auto program = values_.program_action(i)) {
      bound_.actions.push_back(std::move(program));
    } else {
      bind(instruction);
    }
    bound_.reads.resize(i + 1);
    // The element type decides how a collective reduces, whichever thread runs it (runtime/comm/reduce_kernels.h).
    const bool computes = instruction.kind == Instruction::compute || instruction.kind == Instruction::accumulate;
    bound_.subnormals.push_back(computes ? subnormals_of(local_.graph, local_.graph.nodes[instruction.node])
                                         : std::nullopt);
  }
}

/// The buffers of a bucket, or the operands of another instruction.
std::vector<int> StageBinder::members_of(const Instruction& instruction) const {
  return instruction.bucket >= 0 ? schedule_.buckets[instruction.bucket].buffers : instruction.inputs;
}

/// Adds an action that reads and writes values of these buffers in the host's memory.
void StageBinder::add(std::vector<int> read, std::vector<int> written, std::function<void()> action) {
  bound_.reads.push_back(read);
  bound_.actions.push_back(values_.host_action(std::move(read), std::move(written), std::move(action)));
}

/// Adds an action that reads the operands and writes the results of an instruction in the host's memory, at once.
void StageBinder::add_on_host(const Instruction& instruction, std::function<void()> action) {
  std::vector<int> read = members_of(instruction);
  const std::vector<int> written = instruction.bucket >= 0 ? read : instruction.outputs;
  // A stack of micro-batches changes a part of its result.
  const bool is_stack =
      instruction.kind == Instruction::collective && performs(local_.graph.nodes[instruction.node], Collective::stack);
  if (is_stack) read.insert(read.end(), written.begin(), written.end());
  add(std::move(read), written, std::move(action));
}

void StageBinder::bind(const Instruction& instruction) {
  switch (instruction.kind) {
    case Instruction::compute: return bind_compute(instruction);
    case Instruction::reorder: return bind_reorder(instruction);
    case Instruction::copy: {
      const int from = instruction.inputs[0], to = instruction.outputs[0];
      bound_.actions.push_back([&buffers = buffers_, from, to, bytes = schedule_.buffers[from].bytes] {
        std::memcpy(buffers.address(to), buffers.address(from), bytes);
      });
      return;
    }
    case Instruction::load: {
      const int from = instruction.inputs[0], to = instruction.outputs[0];
      add_on_host(instruction, [&buffers = buffers_, from, to, bytes = schedule_.buffers[from].bytes] {
        std::memcpy(buffers.address(to), buffers.address(from) + buffers.micro_batch() * aligned(bytes), bytes);
      });
      return;
    }
    case Instruction::accumulate: return bind_accumulate(instruction);
    case Instruction::collective: return bind_collective(instruction);
    default: return bind_bucket(instruction);
  }
}

void StageBinder::bind_compute(const Instruction& instruction) {
  const Node& node = local_.graph.nodes[instruction.node];
  KernelQuery query{.op = node.op, .attrs = attrs_in(instruction.node, 0)};
  // If casts around the node are folded, its operands and results have other types than the node says.
  for (const int input : instruction.inputs) query.inputs.push_back(buffers_.type_of(input));
  for (const int output : instruction.outputs) query.outputs.push_back(buffers_.type_of(output));
  query.input_formats = instruction.choice.inputs;
  std::vector<std::unique_ptr<Kernel>> made;
  made.push_back(device_.make_kernel(query, instruction.choice));
  const int64_t count = local_.mesh.micro_batches();
  const bool differ = count > 1 && attrs_in(instruction.node, count - 1).print() != query.attrs.print();
  // For example, dropout draws other random numbers in each micro-batch.
  for (int64_t m = 1; m < count && differ; ++m) {
    query.attrs = attrs_in(instruction.node, m);
    made.push_back(device_.make_kernel(query, instruction.choice));
  }
  add_kernel(std::move(made), instruction);
}

Attrs StageBinder::attrs_in(NodeId node, int64_t micro) const {
  return local_.attrs(node, local_.mesh.coordinates(rank_, micro), rules_);
}

void StageBinder::bind_accumulate(const Instruction& instruction) {
  const Reduce reduce = local_.graph.nodes[instruction.node].attrs.as<CollectiveAttrs>().reduce;
  const Type sum = buffers_.type_of(instruction.outputs[0]);
  KernelQuery query{.op = accumulating_op(reduce), .inputs = {sum, sum}, .outputs = {sum}};
  query.input_formats = instruction.choice.inputs;
  bound_.kernels.push_back(device_.make_kernel(query, instruction.choice));
  const int given = instruction.inputs[0], to = instruction.outputs[0];
  bound_.actions.push_back([&buffers = buffers_, kernel = bound_.kernels.back().get(), given, to,
                            scratch = buffers_.at(schedule_.scratch_offset), bytes = schedule_.buffers[to].bytes] {
    void* sum = buffers.address(to);
    if (buffers.micro_batch() == 0) {
      std::memcpy(sum, buffers.address(given), bytes);
      return;
    }
    const std::array<const void*, 2> inputs{sum, buffers.address(given)};
    kernel->run(inputs, {&sum, 1}, scratch);
  });
}

void StageBinder::bind_reorder(const Instruction& instruction) {
  const Buffer &from = schedule_.buffers[instruction.inputs[0]], &to = schedule_.buffers[instruction.outputs[0]];
  std::vector<std::unique_ptr<Kernel>> made;
  made.push_back(device_.make_reorder(buffers_.type(from.value), from.format, to.format));
  add_kernel(std::move(made), instruction);
}

void StageBinder::bind_collective(const Instruction& instruction) {
  const Node& node = local_.graph.nodes[instruction.node];
  if (!is_local(*collective_of(node))) groups_.add(axes_of(node, local_.mesh));
  add_on_host(instruction, partita::bind_collective(local_, instruction.node, rank_, collective_buffers(instruction),
                                                    groups_, buffers_.micro_batch()));
}

CollectiveBuffers StageBinder::collective_buffers(const Instruction& instruction) const {
  return {.input = buffers_.place_of(instruction.inputs[0]),
          .output = buffers_.place_of(instruction.outputs[0]),
          .bytes = schedule_.buffers[instruction.inputs[0]].bytes,
          .scratch = buffers_.at(schedule_.scratch_offset),
          .scratch_bytes = instruction.choice.scratch_bytes};
}

/// Keeps the kernels `made`, and adds an action that runs the only one of them or, of one per micro-batch, that of the
/// current micro-batch.
void StageBinder::add_kernel(std::vector<std::unique_ptr<Kernel>> made, const Instruction& instruction) {
  Operands operands{.inputs = instruction.inputs,
                    .outputs = instruction.outputs,
                    .from = std::vector<const void*>(instruction.inputs.size()),
                    .to = std::vector<void*>(instruction.outputs.size())};
  add_on_host(instruction,
              [&buffers = buffers_, &kernels = bound_.kernels, first = bound_.kernels.size(), several = made.size() > 1,
               operands = std::move(operands), scratch = buffers_.at(schedule_.scratch_offset)]() mutable {
                for (size_t i = 0; i < operands.inputs.size(); ++i)
                  operands.from[i] = buffers.address(operands.inputs[i]);
                for (size_t k = 0; k < operands.outputs.size(); ++k)
                  operands.to[k] = buffers.address(operands.outputs[k]);
                kernels[several ? first + static_cast<size_t>(buffers.micro_batch()) : first]->run(
                    operands.from, operands.to, scratch);
              });
  for (auto& kernel : made) bound_.kernels.push_back(std::move(kernel));
}

/// Binds the reduction of a bucket, an asynchronous collective node, or the wait for either. Throws RankFailures;
/// RuntimeFailure(out_of_memory) if the communication thread cannot be started.
void StageBinder::bind_bucket(const Instruction& instruction) {
  const std::pair message{instruction.bucket, instruction.bucket < 0 ? instruction.node : -1};
  if (instruction.kind == Instruction::wait) return bind_wait(instruction, message);
  if (instruction.bucket < 0) {
    asynchronous_.add(axes_of(local_.graph.nodes[instruction.node], local_.mesh));
    return bind_start(instruction, message,
                      partita::bind_collective(local_, instruction.node, rank_, collective_buffers(instruction),
                                               asynchronous_, buffers_.micro_batch()));
  }
  const Bucket& bucket = schedule_.buckets[instruction.bucket];
  Groups& chosen = instruction.kind == Instruction::start ? asynchronous_ : groups_;
  chosen.add(bucket.axes);
  const auto reduce = [&group = chosen.at(bucket.axes), data = buffers_.at(bucket.offset), dtype = bucket.dtype,
                       count = bucket.bytes / static_cast<int64_t>(size_of(bucket.dtype)), kind = bucket.reduce,
                       wire = bucket.wire] {
    if (!wire) return group.all_reduce(data, count, dtype, kind);
    round_to_bf16(data, data, count);
    group.all_reduce(data, count, *wire, kind);
    widen_from_bf16(data, data, count);
  };
  if (instruction.kind == Instruction::start) return bind_start(instruction, message, reduce);
  add_on_host(instruction, reduce);
}

void StageBinder::bind_start(const Instruction& instruction, std::pair<int, NodeId> message,
                             std::function<void()> communicate) {
  if (!bound_.comm_thread) bound_.comm_thread = std::make_unique<CommThread>();
  add(members_of(instruction), {},
      [&thread = *bound_.comm_thread, &spans = spans_, &job = bound_.messages[message],
       communicate = std::move(communicate), index = bound_.actions.size()] {
        job = thread.start([&spans, &communicate, span = spans.of_asynchronous(index)] {
          const Recorded recorded(spans.recorder(), span);
          communicate();
        });
      });
}

/// The wait for a bucket finds sums in all its buffers; that for another collective, in its second operand.
void StageBinder::bind_wait(const Instruction& instruction, std::pair<int, NodeId> message) {
  std::vector<int> written = members_of(instruction);
  if (instruction.bucket < 0) written = {instruction.inputs[1]};
  add({}, std::move(written), [&thread = *bound_.comm_thread, &job = bound_.messages[message]] { thread.wait(job); });
}

}  // namespace partita

#pragma once
// Instructions in order, over buffers at fixed offsets; an executor only has to run them.

#include <algorithm>
#include <array>
#include <map>

#include "compiler/partition/sections.h"
#include "ir/kernels/kernel_catalog.h"

namespace partita {

constexpr int64_t kAlignment = 64;  // bytes, of everything in the arena

constexpr int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Maximum number of micro-batches that a pipeline stage has in flight between two sections, which is the number of
/// copies of what lives from one to the other.
struct InFlight {
  int64_t micro_to_backward = 1, micro_to_weight = 1, backward_to_weight = 1;
  /// Per input of the graph that another stage sends for each micro-batch: the number in flight if its last reader is
  /// in the forward pass, the backward pass or the weight section.
  std::vector<std::array<int64_t, 3>> inputs{};

  int64_t between(Section from, Section to) const;
  /// Returns the number of micro-batches of an input in flight, if its last reader is in section `last`: micro,
  /// backward or weight.
  int64_t received(size_t input, Section last) const;
};

/// Default of `ScheduleOptions::bucket_bytes`. Schedules pack by it, and planning prices by it.
inline constexpr int64_t kBucketBytes = int64_t{4} << 20;

/// Returns the bytes of gradients that may be on their way to be scattered at once, if the largest has `largest` bytes.
/// Schedules wait for them by it, and planning prices by it.
template <class Bytes>
constexpr Bytes scattered_bytes(Bytes largest) {
  return std::max(static_cast<Bytes>(8 * kBucketBytes), 2 * largest);
}

struct ScheduleOptions {
  /// Maximum bytes of gradients that are reduced in one message. A larger gradient is a message of its own.
  int64_t bucket_bytes = kBucketBytes;
  bool pack = true;     // false: each gradient is reduced by itself
  bool overlap = true;  // whether collectives are asynchronous, overlapped with computation
  /// Whether caches that another program holds are written in its memory. Otherwise they are copied from it.
  bool shares_caches = false;
};

/// A part of the arena that holds one value in one memory format.
struct Buffer {
  ValueId value = -1;
  MemoryFormat format;
  int64_t offset = 0, bytes = 0;  // offset in the arena; of an external state, after it
  int view_of = -1;               // the buffer whose memory it shares, or -1
  /// Number of copies, each of `bytes`, at a stride of aligned(bytes). An input that micro-batches cut has one for
  /// each. On a pipeline stage, a value that one section of a micro-batch leaves to another has as many as are in
  /// flight.
  int64_t copies = 1;

  int64_t bytes_of_all() const { return copies == 1 ? bytes : copies * aligned(bytes); }
};

struct Instruction {
  /// compute: runs a kernel.
  /// reorder, copy: one buffer to another.
  /// load: takes the copy of a micro-batch.
  /// accumulate: writes in the first micro-batch and adds in the others (the kernel takes the sum and the addend).
  /// collective: a node that communicates with other ranks, or a slice or stack.
  /// reduce: all-reduces a whole bucket and waits.
  /// start, wait: a bucket, or a collective without one, asynchronously to the instructions in between. The wait for a
  /// collective has its operand and its result as inputs.
  enum Kind { compute, reorder, copy, load, accumulate, collective, reduce, start, wait } kind = compute;
  NodeId node = -1;     // the node of the local graph that it serves, or -1
  KernelChoice choice;  // compute, accumulate; a collective has only in-place pairs, and its staging as scratch
  std::vector<int> inputs, outputs;  // buffers
  int bucket = -1;                   // reduce, start and wait; -1: none
  bool last = false;                 // reduce and start: only in the last micro-batch

  /// Whether it starts, or waits for, a collective that is in no bucket.
  bool is_single_message() const { return (kind == start || kind == wait) && bucket < 0; }
};

/// All-reduces performed as one: adjacent buffers of one element type, over one group.
struct Bucket {
  std::vector<NodeId> nodes;
  std::vector<int> buffers;
  int64_t offset = 0, bytes = 0;
  DType dtype = DType::f32;
  Reduce reduce = Reduce::sum;
  Axes axes;
  std::optional<DType> wire = std::nullopt;  // CollectiveAttrs::wire of its nodes
};

struct Schedule {
  std::vector<Buffer> buffers;
  std::vector<int> entry, exit;      // buffers of the states, in their order; exit -1: not written
  std::vector<int> inputs, outputs;  // buffers of the graph's inputs and outputs
  std::vector<Instruction> instructions;
  /// The first instruction of each section, in the order of Section. A section without instructions begins where the
  /// next one does.
  std::array<size_t, kSections.size()> begins{};
  size_t update() const { return begin(Section::update); }  // first instruction of the update section

  size_t begin(Section section) const { return begins[static_cast<size_t>(section)]; }
  size_t end(Section section) const {
    return section == Section::update ? instructions.size() : begins[static_cast<size_t>(section) + 1];
  }
  /// Section of an instruction.
  Section section_of(size_t instruction) const;
  /// Range of the instructions that run for each micro-batch, after the prologue.
  size_t micro_begin() const { return begin(Section::micro); }
  size_t micro_end() const { return begin(Section::late); }
  bool in_micro_batch(size_t instruction) const { return instruction >= micro_begin() && instruction < micro_end(); }
  std::vector<Bucket> buckets;
  int64_t state_bytes = 0;  // the head of the arena, kept between steps
  int64_t scratch_offset = 0, scratch_bytes = 0;
  int64_t arena_bytes = 0;
  int64_t external_bytes = 0;  // bytes of states that the arena of another schedule holds

  bool is_external(int buffer) const { return buffers[static_cast<size_t>(buffer)].offset >= arena_bytes; }
};

/// Returns for each buffer the index of the one whose memory it shares: its own, unless it is a view. For a view of a
/// view it is that of the buffer that is none.
std::vector<int> roots_of(const Schedule& schedule);

/// Index of the first instruction that serves the update or checks gradients, before which all gradients are complete;
/// that of the update section if none does earlier. On a pipeline stage it may be earlier than the update section,
/// since the verdict needs a part of the update.
size_t first_of_update(const Schedule& schedule, const LocalGraph& local);

/// Memory formats of states, by name.
using StateFormats = std::map<std::string, MemoryFormat>;
StateFormats state_formats(const Schedule& schedule, const LocalGraph& local);

/// Chooses kernels and memory formats, orders instructions, packs gradients, overlaps collectives and places buffers
/// for the largest shard of each value.
/// `in_flight`: the micro-batches for which a pipeline stage keeps copies. `held`: states that another program holds on
/// the same ranks. Those that are only read, and with `shares_caches` caches, become external: they are used in place,
/// in that program's memory format.
/// Throws InvalidArgument if the device has no kernel for a node, none that serves the shards of all ranks, or none
/// that adds up micro-batches in place. Throws what `catalog` throws, such as RuntimeFailure(out_of_memory).
Schedule make_schedule(const LocalGraph& local, const OpSet& ops, const KernelCatalog& catalog,
                       const ScheduleOptions& options = {}, const InFlight& in_flight = {},
                       const StateFormats& held = {});
/// Text of a schedule: "partita schedule 1 ..." and all that an executor needs. `in_place` and `reason` of kernels are
/// left out, since they serve only to place buffers.
std::string print(const Schedule& schedule, const LocalGraph& local);
/// Checks that buffers are in the arena and large enough, and that a value is made and reduced before it is read and
/// still in memory then. Instructions must be in the sections of their nodes, and nothing may use the memory of a
/// collective in flight. States must not change before the update and must be stored. Copies, collectives and states
/// must keep their memory format, and inputs and outputs must be plain. Throws InternalError otherwise.
void verify(const Schedule& schedule, const LocalGraph& local);

}  // namespace partita

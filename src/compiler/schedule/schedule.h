#pragma once
// Ordered instructions over buffers at fixed offsets: all that is left to do is to run them.

#include <array>
#include <map>

#include "compiler/partition/sections.h"
#include "ir/kernels/kernel_catalog.h"

namespace partita {

constexpr int64_t kAlignment = 64;  // bytes, of all that lies in the arena

constexpr int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Of a stage of a pipeline: how many micro-batches at most are in flight from one section to another, so that as many
/// copies are kept of what lives between them.
struct InFlight {
  int64_t micro_to_backward = 1, micro_to_weight = 1, backward_to_weight = 1;
  /// Per input of the graph that another stage sends for each micro-batch: until the forward, the backward or the
  /// weight section is done that reads it last.
  std::vector<std::array<int64_t, 3>> inputs{};

  int64_t between(Section from, Section to) const;
  /// Of an input whose last reader is in a section of the micro-batches.
  int64_t received(size_t input, Section last) const;
};

/// Bytes of gradients that are reduced in one message: what schedules pack and what planning prices.
inline constexpr int64_t kBucketBytes = int64_t{4} << 20;

struct ScheduleOptions {
  /// Gradients are reduced together, in one message of at most this many bytes.
  int64_t bucket_bytes = kBucketBytes;
  bool pack = true;     // false: each gradient is reduced by itself
  bool overlap = true;  // gradient reductions are asynchronous, overlapped with the backward
};

/// A piece of the arena that holds one value in one memory format.
struct Buffer {
  ValueId value = -1;
  MemoryFormat format;
  int64_t offset = 0, bytes = 0;  // offset: in the arena; of an external state from its end on
  int view_of = -1;               // the buffer whose memory this is
  /// Of an input that micro-batches cut: one for each, of `bytes`, at a stride of aligned(bytes). In a stage of a
  /// pipeline also of what one section of a micro-batch leaves to another: as many as are in flight at once.
  int64_t copies = 1;

  int64_t bytes_of_all() const { return copies == 1 ? bytes : copies * aligned(bytes); }
};

struct Instruction {
  /// compute: a kernel; reorder, copy: one buffer to another; load: the copy of a micro-batch; accumulate: written in
  /// the first micro-batch, then added to (the kernel takes the sum and what is added); collective: a node that
  /// communicates with other ranks, or a slice or stack; reduce: a whole bucket, at once; start, wait: a bucket, or
  /// a collective without one, asynchronously to what stands between. The wait for a collective has its operand and its
  /// result as inputs.
  enum Kind { compute, reorder, copy, load, accumulate, collective, reduce, start, wait } kind = compute;
  NodeId node = -1;     // the node of the local graph that it serves
  KernelChoice choice;  // compute, accumulate; of a collective its in-place pairs and its staging as scratch
  std::vector<int> inputs, outputs;  // buffers
  int bucket = -1;                   // reduce, start and wait
  bool last = false;                 // reduce and start: in the last micro-batch only

  /// Whether it starts, or waits for, a collective that is in no bucket.
  bool is_single_message() const { return (kind == start || kind == wait) && bucket < 0; }
};

/// All-reduces performed as one: adjacent buffers of one element type over one group.
struct Bucket {
  std::vector<NodeId> nodes;
  std::vector<int> buffers;
  int64_t offset = 0, bytes = 0;
  DType dtype = DType::f32;
  Reduce reduce = Reduce::sum;
  Axes axes;
};

struct Schedule {
  std::vector<Buffer> buffers;
  std::vector<int> entry, exit;      // buffers of the states, in their order; exit -1: not written
  std::vector<int> inputs, outputs;  // buffers of the graph's inputs and outputs
  std::vector<Instruction> instructions;
  /// The first instruction of each section, in the order of Section. Where there is no such section it is that of the
  /// next.
  std::array<size_t, kSections.size()> begins{};
  size_t update() const { return begin(Section::update); }  // the first instruction of the update section

  size_t begin(Section section) const { return begins[static_cast<size_t>(section)]; }
  size_t end(Section section) const {
    return section == Section::update ? instructions.size() : begins[static_cast<size_t>(section) + 1];
  }
  /// The section of an instruction.
  Section section_of(size_t instruction) const;
  /// Those that run for each micro-batch behind the prologue.
  size_t micro_begin() const { return begin(Section::micro); }
  size_t micro_end() const { return begin(Section::late); }
  bool in_micro_batch(size_t instruction) const { return instruction >= micro_begin() && instruction < micro_end(); }
  std::vector<Bucket> buckets;
  int64_t state_bytes = 0;  // the head of the arena, kept between steps
  int64_t scratch_offset = 0, scratch_bytes = 0;
  int64_t arena_bytes = 0;
  int64_t external_bytes = 0;  // of states that the arena of another schedule holds

  bool is_external(int buffer) const { return buffers[static_cast<size_t>(buffer)].offset >= arena_bytes; }
};

/// Per buffer the one whose memory it is: itself, but for views.
std::vector<int> roots_of(const Schedule& schedule);

/// The first instruction that serves the update, before which all gradients are there: in a stage of a pipeline the
/// verdict needs some of the update before its section.
size_t first_of_update(const Schedule& schedule, const LocalGraph& local);

/// How states lie, by their names.
using StateFormats = std::map<std::string, MemoryFormat>;
StateFormats state_formats(const Schedule& schedule, const LocalGraph& local);

/// Chooses kernels and memory formats, orders instructions, packs gradients, places buffers for the largest
/// shard of each value. `held`: states that another program holds on the same ranks. Those that are only read are used
/// where they are, as they lie there: they are external.
Schedule make_schedule(const LocalGraph& local, const OpSet& ops, const KernelCatalog& catalog,
                       const ScheduleOptions& options = {}, const InFlight& in_flight = {},
                       const StateFormats& held = {});
/// "partita schedule 1 ...": all that an executor needs. `in_place` and `reason` of the kernels, which have
/// done their work when the buffers are placed, are not written.
std::string print(const Schedule& schedule, const LocalGraph& local);
/// Reads what `print` writes, for the same local graph. Throws InvalidArgument with the line; the result is
/// verified, but for what only the device knows: see below.
Schedule parse_schedule(std::string_view text, const LocalGraph& local);
/// Throws InternalError: a buffer lies outside the arena or is too small, live buffers overlap, a value is read
/// before it is made or reduced, a state changes before the update or is not stored, memory formats do not fit.
void verify(const Schedule& schedule, const LocalGraph& local);
/// For a schedule that was read: throws InvalidArgument when a buffer has not the size of its memory format on the
/// device of the catalog. Whether it has the kernels is seen when they are made.
void verify(const Schedule& schedule, const LocalGraph& local, const KernelCatalog& catalog);

}  // namespace partita

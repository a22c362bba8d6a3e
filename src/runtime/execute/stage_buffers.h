#pragma once
// The memory of one stage's schedule on a rank: the address of each buffer in each micro-batch.

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/execute/named_buffers.h"

namespace partita {

/// Addresses of a stage's buffers. The thread that runs the schedule calls `begin`, which changes only the addresses of
/// buffers with several copies. Jobs of the communication thread read addresses without a lock.
class StageBuffers {
 public:
  /// Allocates the arena on `device`. The referenced arguments and `holder` must outlive this object. `holder`, if
  /// given, has the states of a program with the same ones: external buffers are addresses in its memory. Throws
  /// RuntimeFailure(out_of_memory), InvalidArgument if `holder` lacks an external state, and InternalError if states
  /// are external and `holder` is null or holds them in another type or memory format.
  StageBuffers(const LocalGraph& local, const Schedule& schedule, Device& device, std::vector<int64_t> coordinates,
               const StageBuffers* holder);
  StageBuffers& operator=(StageBuffers&&) = delete;  // bound actions refer to addresses in it

  /// Copies the states that are not external from `holder`, converted to this schedule's memory formats. Call it on a
  /// thread that has entered the device. Throws InvalidArgument if `holder` lacks a state,
  /// RuntimeFailure(out_of_memory) if a conversion lacks memory, and InternalError if there is no such conversion.
  void take_states(const StageBuffers& holder);
  /// Returns the buffer of an input that is to be set, for one micro-batch, to the elements of `given` inside `box`.
  /// Throws InvalidArgument for an unknown input and unless the box has the input's local type, InternalError if it
  /// lies outside `given` or there is no such micro-batch.
  int input_for(std::string_view name, ConstTensor given, const Box& box, int64_t micro_batch) const;
  /// Selects the micro-batch that runs next; 0 for what runs once.
  void begin(int64_t micro_batch);
  const int64_t& micro_batch() const { return micro_batch_; }

  const std::vector<int64_t>& coordinates() const { return coordinates_; }
  const NamedBuffers& named() const { return named_; }
  /// Type of this rank's part of a value; of one micro-batch, if micro-batches split the value.
  Type type(ValueId value) const { return local_.type(value, coordinates_); }
  Type type_of(int buffer) const { return type(schedule_.buffers[static_cast<size_t>(buffer)].value); }

  /// Address at a byte offset in the arena.
  char* at(int64_t offset) const { return static_cast<char*>(arena_.get()) + offset; }
  /// Address of a buffer in the current micro-batch.
  char* address(int buffer) const { return addresses_[static_cast<size_t>(buffer)]; }
  /// Location that holds `address(buffer)`, whichever micro-batch is the current one. Valid as long as this object.
  char* const* place_of(int buffer) const { return &addresses_[static_cast<size_t>(buffer)]; }
  /// Address of the copy of a buffer that belongs to a micro-batch. With n copies, micro-batch m has copy m modulo n.
  char* copy_of(int buffer, int64_t micro_batch) const;

 private:
  void find_copies(const StageBuffers* holder);

  const LocalGraph& local_;
  const Schedule& schedule_;
  Device& device_;
  const std::vector<int64_t> coordinates_;
  const NamedBuffers named_;
  std::shared_ptr<void> arena_;
  std::vector<char*> bases_;      // address per buffer in micro-batch 0
  std::vector<char*> addresses_;  // address per buffer in the current micro-batch
  std::vector<int> roots_;        // per buffer: the buffer whose memory it is
  std::vector<int> copied_;       // buffers with a copy per micro-batch in flight
  int64_t micro_batch_ = 0;       // the current one
};

}  // namespace partita

#pragma once
// The memory of one stage's schedule on a rank: where each buffer lies, in each micro-batch.

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/execute/named_buffers.h"

namespace partita {

/// The thread that runs the schedule calls `begin`, which changes the addresses of buffers with several copies alone.
/// Jobs of the communication thread look addresses up, without a lock.
class StageBuffers {
 public:
  /// Allocates the arena on `device`, which outlives this, as the other arguments. `holder` has the states of a program
  /// with the same ones: external buffers are addresses in its memory.
  StageBuffers(const LocalGraph& local, const Schedule& schedule, Device& device, std::vector<int64_t> coordinates,
               const StageBuffers* holder);
  StageBuffers(const StageBuffers&) = delete;  // what is bound refers to addresses in it
  StageBuffers& operator=(const StageBuffers&) = delete;

  /// Copies the states that are not external from `holder`, on a thread that entered the device.
  void take_states(const StageBuffers& holder);
  /// What runs next is of a micro-batch; of 0 where it runs once.
  void begin(int64_t micro_batch);
  const int64_t& micro_batch() const { return micro_batch_; }

  const std::vector<int64_t>& coordinates() const { return coordinates_; }
  const NamedBuffers& named() const { return named_; }
  /// This rank's part of a value; of one micro-batch, where these cut it.
  Type type(ValueId value) const { return local_.type(value, coordinates_); }
  Type type_of(int buffer) const { return type(schedule_.buffers[static_cast<size_t>(buffer)].value); }

  char* at(int64_t offset) const { return static_cast<char*>(arena_.get()) + offset; }
  /// The buffer in the micro-batch that runs, and where that is looked up.
  char* address(int buffer) const { return addresses_[static_cast<size_t>(buffer)]; }
  char* const* place_of(int buffer) const { return &addresses_[static_cast<size_t>(buffer)]; }
  /// The copy of a buffer that a micro-batch has.
  char* copy_of(int buffer, int64_t micro_batch) const;

 private:
  void find_copies(const StageBuffers* holder);

  const LocalGraph& local_;
  const Schedule& schedule_;
  Device& device_;
  const std::vector<int64_t> coordinates_;
  const NamedBuffers named_;
  std::shared_ptr<void> arena_;
  std::vector<char*> bases_;      // per buffer, in micro-batch 0
  std::vector<char*> addresses_;  // per buffer, in the micro-batch that runs
  std::vector<int> roots_;        // per buffer: the one whose memory it is
  std::vector<int> copied_;       // buffers with a copy for each micro-batch in flight
  int64_t micro_batch_ = 0;       // that runs
};

}  // namespace partita

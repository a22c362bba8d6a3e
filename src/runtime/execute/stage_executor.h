#pragma once
// Runs the sections of one stage's schedule on one rank with a device and a communicator; no decision is left.

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/comm/communicator.h"
#include "runtime/device/device.h"
#include "runtime/execute/groups.h"
#include "runtime/execute/named_buffers.h"
#include "runtime/execute/stage_binder.h"
#include "runtime/execute/stage_buffers.h"
#include "runtime/execute/stage_spans.h"
#include "runtime/execute/state_reader.h"
#include "runtime/execute/subnormals.h"
#include "runtime/trace/recorder.h"

namespace partita {

/// What one rank holds of a state.
struct StatePart {
  Box box;  // of the whole value
  Array values;
  bool owned = false;  // of the ranks that hold this part it is the first: each part is owned once
};

class StageExecutor {
 public:
  /// Binds kernels to this rank's shapes; the arguments outlive the executor. `ranks` are those of the stage. `holder`
  /// has the states, with a device of the same kind: external ones are used in its memory, others are copied from it.
  StageExecutor(const LocalGraph& local, const Schedule& schedule, const OpSet& ops, Device& device,
                Communicator& ranks, const StageExecutor* holder = nullptr);

  const LocalGraph& local() const { return local_; }
  const Schedule& schedule() const { return schedule_; }
  const NamedBuffers& named() const { return buffers_.named(); }
  const std::vector<int64_t>& coordinates() const { return buffers_.coordinates(); }
  /// This rank's part of what a buffer holds; of one micro-batch, where these cut it.
  Type type_of(int buffer) const { return buffers_.type_of(buffer); }
  /// The copy of a buffer that a micro-batch has.
  char* copy_of(int buffer, int64_t micro_batch) const { return buffers_.copy_of(buffer, micro_batch); }

  /// The elements of `given` in a box, which has the shape of this rank's part and lies inside of `given`. An input
  /// that micro-batches cut is set for each of them. Throws InvalidArgument unless the part has the input's local type.
  void set_input(std::string_view name, ConstTensor given, const Box& box, int64_t micro_batch);
  /// From the whole value, of which this rank keeps its part.
  void set_state(std::string_view name, const Array& whole);
  /// The whole value; collective over the stage's ranks when the state is cut. Each rank gets each part once.
  Array state(std::string_view name);
  /// Calls `fill` for this rank's part of a state: with its box of the whole value, its element type, and where its
  /// elements go, dense.
  void fill_state(std::string_view name, const std::function<void(const Box& box, DType dtype, void* to)>& fill);
  StatePart state_part(std::string_view name) const;
  Box state_box(std::string_view name) const;
  /// Of this rank's part of a state.
  StateReader state_reader(std::string_view name) const;
  /// Gives back all memory but that of the states, between two steps or after the last one.
  void keep_states_alone() {
    device_.discard(buffers_.at(schedule_.state_bytes), schedule_.arena_bytes - schedule_.state_bytes);
  }
  /// This rank's part of a buffer in the plain format, after the last section that writes it.
  Array read(int buffer) const;

  /// Forgets what was measured.
  void begin_step() { std::fill(seconds_.begin(), seconds_.end(), 0); }
  /// What runs next is of a micro-batch; of 0 where it runs once.
  void begin(int64_t micro_batch) { buffers_.begin(micro_batch); }
  /// Runs instructions one after the other, but for those of the last micro-batch in another one.
  void run(size_t begin, size_t end, DeviceSubnormals& threads);
  /// From now on instructions are spans of this stage; `thread` is that of its asynchronous collectives.
  void record(Recorder* recorder, int stage, int thread) { spans_.record(recorder, stage, thread); }
  /// Whether all results of an instruction that has just run are finite, if it is one of the forward.
  bool makes_finite(size_t instruction) const;
  /// Seconds of each instruction in the last step; measuring begins with `on`.
  void measure(bool on);
  const std::vector<double>& seconds() const { return seconds_; }

 private:
  int64_t bytes_in_use(int buffer) const;

  const LocalGraph& local_;
  const Schedule& schedule_;
  Device& device_;
  Communicator& ranks_;
  StageBuffers buffers_;
  Groups groups_, asynchronous_;  // asynchronous: those of the communication thread
  StageSpans spans_;
  BoundStage bound_;
  std::vector<double> seconds_;  // per action, when measuring
  bool measuring_ = false;
};

}  // namespace partita

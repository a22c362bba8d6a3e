#pragma once
// Runs the sections of one stage's schedule on one rank with a device and a communicator; no decision is left.

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "comm/communicator.h"
#include "device/device.h"
#include "execute/comm_thread.h"
#include "execute/groups.h"
#include "execute/named_buffers.h"
#include "execute/recorder.h"
#include "execute/run_collective.h"
#include "execute/state_reader.h"
#include "execute/subnormals.h"

namespace partita {

/// What one rank holds of a state.
struct StatePart {
  std::vector<Range> box;  // of the whole value
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
  const NamedBuffers& named() const { return named_; }
  const std::vector<int64_t>& coordinates() const { return coordinates_; }
  /// This rank's part of what a buffer holds; of one micro-batch, where these cut it.
  Type type_of(int buffer) const { return type(schedule_.buffers[static_cast<size_t>(buffer)].value); }
  /// The copy of a buffer that a micro-batch has.
  char* copy_of(int buffer, int64_t micro_batch) const;

  /// The elements of `given` in a box, which has the shape of this rank's part and lies inside of `given`. An input
  /// that micro-batches cut is set for each of them. Throws InvalidArgument unless the part has the input's local type.
  void set_input(std::string_view name, ConstTensor given, const std::vector<Range>& box, int64_t micro_batch);
  /// From the whole value, of which this rank keeps its part.
  void set_state(std::string_view name, const Array& whole);
  /// The whole value; collective over the stage's ranks when the state is cut. Each rank gets each part once.
  Array state(std::string_view name);
  /// Calls `fill` for this rank's part of a state: with its box of the whole value, its element type, and where its
  /// elements go, dense.
  void fill_state(std::string_view name,
                  const std::function<void(const std::vector<Range>& box, DType dtype, void* to)>& fill);
  StatePart state_part(std::string_view name) const;
  std::vector<Range> state_box(std::string_view name) const;
  /// Of this rank's part of a state.
  StateReader state_reader(std::string_view name) const;
  /// Gives back all memory but that of the states, between two steps or after the last one.
  void keep_states_alone() {
    device_.discard(at(schedule_.state_bytes), schedule_.arena_bytes - schedule_.state_bytes);
  }
  /// This rank's part of a buffer in the plain format, after the last section that writes it.
  Array read(int buffer) const;

  /// Forgets what was measured.
  void begin_step() { std::fill(seconds_.begin(), seconds_.end(), 0); }
  /// What runs next is of a micro-batch; of 0 where it runs once.
  void begin(int64_t micro_batch);
  /// Runs instructions one after the other, but for those of the last micro-batch in another one.
  void run(size_t begin, size_t end, DeviceSubnormals& threads);
  /// From now on instructions are spans of this stage; `thread` is that of its asynchronous collectives.
  void record(Recorder* recorder, int stage, int thread);
  /// Whether all results of an instruction that has just run are finite, if it is one of the forward.
  bool makes_finite(size_t instruction) const;
  /// Seconds of each instruction in the last step; measuring begins with `on`.
  void measure(bool on);
  const std::vector<double>& seconds() const { return seconds_; }

 private:
  /// Buffers whose addresses are looked up when an action runs.
  struct Operands {
    std::vector<int> inputs, outputs;
    std::vector<const void*> from;
    std::vector<void*> to;
  };

  char* at(int64_t offset) const { return static_cast<char*>(arena_.get()) + offset; }
  Type type(ValueId value) const { return local_.type(value, coordinates_); }
  void find_copies(const StageExecutor* holder);
  void take_states(const StageExecutor& holder);
  void bind(const Instruction& instruction);
  void bind_compute(const Instruction& instruction);
  void bind_accumulate(const Instruction& instruction);
  void bind_reorder(const Instruction& instruction);
  void bind_collective(const Instruction& instruction);
  void bind_bucket(const Instruction& instruction);
  CollectiveBuffers collective_buffers(const Instruction& instruction) const;
  void bind_start(std::pair<int, NodeId> message, std::function<void()> communicate);
  void bind_wait(std::pair<int, NodeId> message);
  Span span_of(size_t instruction) const;
  bool is_exposed(const Instruction& instruction) const;
  void add_kernel(std::vector<std::unique_ptr<Kernel>> made, const Instruction& instruction);
  Attrs attrs_in(NodeId node, int64_t micro) const;
  int64_t bytes_in_use(int buffer) const;

  const LocalGraph& local_;
  const Schedule& schedule_;
  const Rules rules_;
  Device& device_;
  Communicator& ranks_;
  const std::vector<int64_t> coordinates_;
  const NamedBuffers named_;
  std::shared_ptr<void> arena_;
  Groups groups_, asynchronous_;  // asynchronous: those of the communication thread
  std::vector<char*> bases_;      // per buffer, in micro-batch 0
  std::vector<char*> addresses_;  // per buffer, in the micro-batch that runs
  std::vector<int> roots_;        // per buffer: the one whose memory it is
  std::vector<int> copied_;       // buffers with a copy for each micro-batch in flight
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<std::function<void()>> actions_;
  std::vector<std::optional<Subnormals>> subnormals_;  // per action
  std::vector<double> seconds_;                        // per action, when measuring
  bool measuring_ = false;
  Recorder* recorder_ = nullptr;
  int stage_ = 0, comm_thread_number_ = 0;  // of the spans
  int64_t micro_batch_ = 0;                 // that runs
  std::unique_ptr<CommThread> comm_thread_;
  std::map<std::pair<int, NodeId>, int64_t> messages_;  // of the communication thread: jobs, by bucket or node
};

}  // namespace partita

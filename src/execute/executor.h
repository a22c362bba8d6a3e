#pragma once
// Runs a schedule on one rank with a device and a communicator; no decision is left.

#include <optional>

#include "comm/communicator.h"
#include "device/device.h"
#include "schedule/schedule.h"

namespace partita {

/// What one rank holds of a state.
struct StatePart {
  std::vector<Range> box;  // of the whole value
  Array values;
  bool owned = false;  // of the ranks that hold this part it is the first: each part is owned once
};

class Executor {
 public:
  /// Binds kernels to this rank's shapes; the arguments outlive the executor.
  Executor(const LocalGraph& local, const Schedule& schedule, const OpSet& ops, Device& device,
           Communicator& communicator);
  ~Executor();

  /// This rank's part of the type of an input (of a micro-batch, where these cut it), state or output.
  Type input_type(std::string_view name) const;
  Type output_type(std::string_view name) const;

  /// Copies this rank's part of an input; it stays until it is set again. Throws InvalidArgument unless it has the
  /// input's local type.
  void set_input(std::string_view name, ConstTensor local);
  /// The elements of `given` in a box, which has the shape of this rank's part and lies inside of `given`. An input
  /// that micro-batches cut is set for each of them.
  void set_input(std::string_view name, ConstTensor given, const std::vector<Range>& box, int64_t micro_batch = 0);
  /// From the whole value, of which this rank keeps its part.
  void set_state(std::string_view name, const Array& whole);
  /// The whole value; collective over the ranks when the state is cut. Each rank gets each part once.
  Array state(std::string_view name) const;
  /// This rank's part, without a word to others.
  StatePart state_part(std::string_view name) const;

  /// Forward and backward; then, unless the loss (output "loss") is not finite, the update. Throws
  /// RuntimeFailure(non_finite) on every rank before anything is updated, after replaying the forward
  /// to name the first bad node.
  void step();
  /// Forward only graphs: runs everything, checks nothing.
  void run();

  /// This rank's part of an output, after step() or run().
  Array output(std::string_view name) const;
  int64_t arena_bytes() const;
  /// Seconds per node of the last step, when measuring was switched on before it.
  void measure(bool on);
  std::vector<std::pair<std::string, double>> measured() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace partita

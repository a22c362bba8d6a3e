#pragma once
// Ranks that start programs together.

#include <functional>
#include <memory>
#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/device/device.h"
#include "runtime/device/xla/accelerator.h"

namespace partita {

/// Opens the accelerator of `device`, so that programs of all ranks can communicate, and checks that each rank has a
/// device of its own: programs of two on one could wait for each other. A collective call. Throws InvalidArgument on
/// all ranks if two share a device, if some of them are threads and others processes, or if the plugin does not join
/// the devices of processes; RuntimeFailure(ranks_disagree) if processes have other kinds of devices or versions of the
/// plugin. Throws as `Accelerator::open` does, and LostRanks.
void join_devices(Communicator& world, Device& device);

/// The ranks of a stage, each with a device, after `join_devices`: threads of one process, or a process each. Programs
/// that communicate among devices have to be started on all of them. Of threads the first one does that by one call, of
/// processes each starts its own part. All functions are collective calls.
class Gang {
 public:
  using Arguments = std::vector<std::vector<const pjrt::Buffer*>>;  // by device of this process
  /// Starts a program on the devices of this process and returns the results of each.
  using Launch = std::function<std::vector<pjrt::Results>(const Arguments& arguments, pjrt::RunId run)>;

  /// Brings the ranks together. `ranks` outlives this object. As long as the object lives, the process ends with a
  /// message if the host waits for one result of the accelerator for longer than `patience` (exit code peer_stalled),
  /// or for five seconds more after another process has failed: what hangs in a program cannot be stopped. Throws
  /// LostRanks.
  Gang(Communicator& ranks, const Accelerator& accelerator, Timeout patience = kDefaultTimeout);

  /// Returns the ids of the ranks' devices.
  const std::vector<int64_t>& devices() const { return devices_; }
  /// Returns a program for all devices. Of processes the first one compiles it and sends it to the others, so that all
  /// have the same kernels; if the plugin cannot save programs, each compiles it. Throws as `Accelerator::compile`
  /// does, and LostRanks.
  std::shared_ptr<const pjrt::Executable> compile(const std::string& text) const;
  /// Starts a program, with the arguments of this rank on its device, once all ranks have called this. The first rank
  /// of the process calls its `launch`. What `launch` throws is thrown on this rank only; the others throw LostRanks.
  /// Before a rank leaves by an exception, it waits for the run that uses its arguments.
  pjrt::Results run(std::vector<const pjrt::Buffer*> arguments, const Launch& launch);

 private:
  struct Table;
  std::shared_ptr<Table> meet() const;
  void meet_again();
  void start(const Launch& launch);
  pjrt::RunId agree_on_run() const;

  Communicator& ranks_;
  const Accelerator accelerator_;
  std::vector<int64_t> devices_;
  std::shared_ptr<Table> table_;  // null: each rank is a process
  std::shared_ptr<const void> watch_;
};

}  // namespace partita

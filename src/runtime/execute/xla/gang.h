#pragma once
// Ranks that start programs together.

#include <functional>
#include <memory>
#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/device/xla/accelerator.h"

namespace partita {

/// Checks that no two ranks of a process use one device: their programs could wait for each other. A collective call.
/// Throws InvalidArgument on all ranks if two do; RuntimeFailure if a rank fails, is lost or late.
void require_own_devices(Communicator& world, const Accelerator& accelerator);

/// The ranks of a stage, threads of one process with a device each. Programs that communicate among devices have to be
/// started on all of them by one call, which the first rank makes. All functions are collective calls.
class Gang {
 public:
  using Arguments = std::vector<std::vector<const pjrt::Buffer*>>;  // by rank
  /// Starts a program on all devices and returns its results by rank.
  using Launch = std::function<std::vector<pjrt::Results>(const Arguments& arguments)>;

  /// Brings the ranks together. `ranks` outlives this object. Throws InvalidArgument on all of them if they are in
  /// several processes; RuntimeFailure if a rank fails, is lost or late.
  Gang(Communicator& ranks, const Accelerator& accelerator);

  /// Returns the ids of the ranks' devices.
  const std::vector<int64_t>& devices() const { return devices_; }
  /// Starts a program, with the arguments of this rank on its device, once all ranks have called this; the first rank
  /// calls its `launch`. What `launch` throws is thrown on the first rank only; the others throw RuntimeFailure, as
  /// they do if a rank fails, is lost or late. Before a rank leaves by an exception, it waits for the run that uses its
  /// arguments.
  pjrt::Results run(std::vector<const pjrt::Buffer*> arguments, const Launch& launch);

 private:
  struct Table;
  std::shared_ptr<Table> meet() const;
  void meet_again();
  void start(const Launch& launch);

  Communicator& ranks_;
  std::shared_ptr<Table> table_;
  std::vector<int64_t> devices_;
};

}  // namespace partita

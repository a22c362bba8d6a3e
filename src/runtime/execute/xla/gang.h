#pragma once
// Ranks that start programs together.

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
  /// Brings the ranks together. `ranks` outlives this object. Throws InvalidArgument on all of them if they are in
  /// several processes; RuntimeFailure if a rank fails, is lost or late.
  Gang(Communicator& ranks, const Accelerator& accelerator);

  /// Returns the ids of the ranks' devices.
  const std::vector<int64_t>& devices() const { return devices_; }
  /// Starts a program, with the arguments of this rank on its device, when all ranks have called this. Throws on all
  /// ranks what the plugin notices at once; RuntimeFailure if a rank fails, is lost or late.
  pjrt::Results run(const pjrt::Executable& program, std::vector<const pjrt::Buffer*> arguments);

 private:
  struct Table;
  std::shared_ptr<Table> meet() const;
  void meet_again();
  void start(const pjrt::Executable& program);

  Communicator& ranks_;
  const Accelerator& accelerator_;
  std::shared_ptr<Table> table_;
  std::vector<int64_t> devices_;
};

}  // namespace partita

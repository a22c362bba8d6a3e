#pragma once
// Hands arrays from the device of one rank to that of another, without the host's memory.

#include <memory>
#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/device/xla/accelerator.h"

namespace partita {

/// The arrays that ranks, all of which are threads of one process, send to one another. A message of the ranks, which
/// the receiver awaits, follows each array: it says that the array is there. Each rank has an object of its own.
class DeviceMail {
 public:
  /// Returns the mail of the ranks; null unless they are threads of one process, and the plugin copies arrays. A
  /// collective call. Throws LostRanks.
  static std::unique_ptr<DeviceMail> open(Communicator& ranks, const Accelerator& accelerator);

  /// Whether two ranks have different devices. Plugins refuse copies within a device.
  bool reaches(int from, int to) const;
  /// Starts a copy of an array to the device of rank `to`, which this one reaches, and leaves it there for `take`.
  /// Throws as `pjrt::Client::copied` does.
  void post(const pjrt::Buffer& value, int to) const;
  /// Returns the oldest array of rank `from` that was not taken. Throws InternalError if there is none.
  pjrt::Buffer take(int from) const;

 private:
  struct Table;
  DeviceMail(std::shared_ptr<Table> table, const Accelerator& accelerator, std::vector<int64_t> devices, int rank)
      : table_(std::move(table)), accelerator_(accelerator), devices_(std::move(devices)), rank_(rank) {}

  const std::shared_ptr<Table> table_;
  const Accelerator accelerator_;
  const std::vector<int64_t> devices_;  // by rank: its device in the client
  const int rank_;
};

}  // namespace partita

#pragma once
// Messages between ranks that carry parts of values in the host's memory.

#include <deque>
#include <vector>

#include "ir/sharding/rule.h"
#include "runtime/comm/communicator.h"
#include "runtime/device/device.h"

namespace partita {

/// Sends and receives parts of values, each a box within what a rank holds, with its number of elements. Messages from
/// one rank to another arrive in the order in which they were sent, also those of a rank to itself.
class HostMessages {
 public:
  /// The arguments outlive this object.
  explicit HostMessages(Communicator& ranks) : ranks_(ranks) {}

  /// Forgets messages of this rank to itself that a step which ended early has not received.
  void begin_step() { to_itself_.clear(); }
  /// Sends a part of a value, of which it makes a copy, to rank `to`. Throws RankFailures.
  void send(ConstTensor value, const Box& part, int64_t elements, int to);
  /// Receives a part of a value from rank `from`. Throws RankFailures.
  void receive(Tensor value, const Box& part, int64_t elements, int from);

 private:
  Communicator& ranks_;
  std::deque<std::vector<std::byte>> to_itself_;
  std::vector<std::byte> staging_;
};

}  // namespace partita

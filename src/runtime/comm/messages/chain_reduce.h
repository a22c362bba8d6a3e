#pragma once
// A reduction that passes from host to host.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/collective_algorithm.h"
#include "runtime/comm/call.h"
#include "runtime/comm/messages/call_messages.h"

namespace partita {

/// Grows `buffer` to at least `bytes` bytes; new contents are arbitrary.
inline void make_room(std::vector<std::byte>& buffer, int64_t bytes) {
  if (static_cast<int64_t>(buffer.size()) < bytes) buffer.resize(static_cast<size_t>(bytes));
}

/// Buffers of a reduction by messages, kept between calls.
struct ReduceBuffers {
  std::vector<std::byte> own, parts;  // own: this host's partial sum; parts: what others send
  std::vector<const void*> sources;   // in group order
};

/// A part of a buffer that is sent to, or received from, a rank of a group.
struct MessagePiece {
  int peer = -1;
  void* data = nullptr;
  int64_t bytes = 0;
};

/// A part of a reduction in which the contributions of each host are contiguous in group order. `own` has the
/// contributions of this host, `count` elements each. This rank receives the sum over the earlier hosts from rank
/// `previous`, adds its own and sends the result to rank `next`, chunk by chunk. -1 if there is no such rank.
struct ChainPart {
  static constexpr int64_t kChunkBytes = kChainChunkBytes;

  std::span<const void* const> own;
  int64_t count = 0;
  void* result = nullptr;
  int previous = -1, next = -1;
  bool returns = false;  // the sum returns along the chain to `result` on every host; else only the last host has it
  /// Parts of the last host's result, in order, sent as soon as they are complete.
  std::span<const MessagePiece> sends{};
  std::span<const MessagePiece> receives{};  // the parts that other ranks send this way
};

/// Does the part of this rank in the reduction of `part`, within a call of `messages` (CallMessages::run). `call` gives
/// the type and the reduction. Throws RankFailures, and RuntimeFailure if the carrier fails.
void chain_reduce(CallMessages& messages, const Call& call, const ChainPart& part, ReduceBuffers& buffers);

}  // namespace partita

#pragma once
// A reduction that goes from host to host.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/comm/call.h"
#include "runtime/comm/messages/call_messages.h"

namespace partita {

/// At least so many bytes, whatever they hold.
inline void make_room(std::vector<std::byte>& buffer, int64_t bytes) {
  if (static_cast<int64_t>(buffer.size()) < bytes) buffer.resize(static_cast<size_t>(bytes));
}

/// What a reduction by messages needs besides its buffers; kept from call to call.
struct ReduceBuffers {
  std::vector<std::byte> own, parts;  // the own sum on its way; what comes from others
  std::vector<const void*> sources;   // in group order
};

/// A part of a buffer that goes to, or comes from, a rank of a group.
struct MessagePiece {
  int peer = -1;
  void* data = nullptr;
  int64_t bytes = 0;
};

/// A part of a reduction whose contributions lie one host behind the other in group order. This rank has those of its
/// host in `own`, `count` elements each, gets the sum of the hosts before it from rank `previous` and sends it on to
/// `next` with its own, chunk by chunk. None: -1.
struct ChainPart {
  static constexpr int64_t kChunkBytes = int64_t{256} << 10;

  std::span<const void* const> own;
  int64_t count = 0;
  void* result = nullptr;
  int previous = -1, next = -1;
  bool returns = false;  // the sum goes back the same way, to `result` of every host; else that of the last has it
  std::span<const MessagePiece> sends{};     // parts of the last host's result in its order, sent as they are made
  std::span<const MessagePiece> receives{};  // what others send so
};

/// The part of this rank, within a call of `messages`.
void chain_reduce(CallMessages& messages, const Call& call, const ChainPart& part, ReduceBuffers& buffers);

}  // namespace partita

#include "runtime/comm/messages/chain_reduce.h"

#include <algorithm>

#include "runtime/comm/reduce_kernels.h"

namespace partita {

void chain_reduce(CallMessages& messages, const Call& call, const ChainPart& part, ReduceBuffers& buffers) {
  const auto& [own, count, result, previous, next, returns, sends, receives] = part;
  const int64_t item = item_bytes(call), per_chunk = ChainPart::kChunkBytes / item;
  const int64_t chunks = (count + per_chunk - 1) / per_chunk;
  const auto piece = [&, count = count](void* data, int64_t k) {
    return BufferPart{static_cast<std::byte*>(data) + k * per_chunk * item,
                      std::min(per_chunk, count - k * per_chunk) * item};
  };
  // Buffers for the sum from `previous` and for the sum to `next`. The final result is received or computed in its
  // destination.
  if (previous >= 0) make_room(buffers.parts, count * item);
  if (next >= 0) make_room(buffers.own, count * item);
  void *before = buffers.parts.data(), *made = next >= 0 ? static_cast<void*>(buffers.own.data()) : result;
  for (int64_t k = 0; k < chunks && previous >= 0; ++k) messages.start_receive(piece(before, k), previous);
  for (int64_t k = 0; k < chunks && next >= 0 && returns; ++k) messages.start_receive(piece(result, k), next);
  for (const auto& [peer, data, bytes] : receives) messages.start_receive({data, bytes}, peer);
  const size_t results = previous >= 0 ? chunks : 0;  // index of the first returned chunk in the pending messages
  int64_t returned = 0;
  const auto pass_back = [&](bool waits) {
    while (part.returns && part.next >= 0 && part.previous >= 0 && returned < chunks) {
      if (waits) messages.wait(results + returned + 1);
      if (!messages.is_done(results + returned)) return;
      messages.start_send(piece(part.result, returned++), part.previous);
    }
  };
  buffers.sources.assign(own.begin(), own.end());
  if (previous >= 0) buffers.sources.insert(buffers.sources.begin(), before);
  auto send = sends.begin();
  for (int64_t k = 0; k < chunks; ++k) {
    if (previous >= 0) messages.wait(static_cast<size_t>(k) + 1);
    const int64_t begin = k * per_chunk, end = std::min(count, begin + per_chunk);
    reduce_elements(buffers.sources, {&made, 1}, begin, end, call.dtype, call.reduce);
    if (next >= 0 || returns) messages.start_send(piece(made, k), next >= 0 ? next : previous);
    const std::byte* const until = static_cast<std::byte*>(made) + end * item;
    for (; send != sends.end() && static_cast<std::byte*>(send->data) + send->bytes <= until; ++send) {
      messages.start_send({send->data, send->bytes}, send->peer);
    }
    pass_back(/*waits=*/false);
  }
  pass_back(/*waits=*/true);
  messages.wait();
}

}  // namespace partita

#include "runtime/comm/sockets/frame.h"

#include <iterator>

namespace partita {

FrameHead head_of(const PendingMessage& message, uint64_t channel, uint64_t number) {
  return {.tag = message.tag,
          .channel = channel,
          .number = number,
          .bytes = message.bytes,
          .call = static_cast<uint8_t>(message.label.kind),
          .dtype = static_cast<uint8_t>(message.label.dtype),
          .reduce = static_cast<uint8_t>(message.label.reduce),
          .root = message.label.root};
}

MessageLabel label_of(const FrameHead& head) {
  return {.kind = static_cast<Collective>(head.call),
          .dtype = static_cast<DType>(head.dtype),
          .reduce = static_cast<Reduce>(head.reduce),
          .root = head.root};
}

bool is_sound(const FrameHead& head) {
  if (head.kind > FrameHead::Kind::leave || head.bytes < 0 || head.bytes > Carrier::kMaxBytes) return false;
  return head.call < kNames<Collective>.size() && head.dtype < std::size(kAllDTypes) &&
         head.reduce <= static_cast<uint8_t>(Reduce::min);
}

}  // namespace partita

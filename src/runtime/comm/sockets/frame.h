#pragma once
// The frames that ranks send each other over sockets: each a head followed by bytes.

#include <cstddef>
#include <cstdint>

#include "runtime/comm/carrier.h"

namespace partita {

/// The head of a frame, sent as it is in memory: all ranks run one program on the same kind of processor.
struct FrameHead {
  enum class Kind : uint32_t {
    alive,    // keep-alive
    message,  // a message, or a part; its bytes follow
    request,  // asks to send a message; its bytes follow after a grant
    grant,    // allows the request with this number
    abort,    // the job has failed; the bytes are the reason, `tag` its exit code, `number` the lost rank plus 1,
              // `channel` 1 if the reason says how that rank was lost
    leave     // the last frame of a rank that ends normally
  };
  Kind kind = Kind::alive;
  int32_t tag = 0;
  uint64_t channel = 0;  // id of the group
  uint64_t number = 0;   // counts the sender's messages to this rank
  int64_t bytes = 0;     // bytes that follow; of a request: that will follow
  uint8_t call = 0, dtype = 0, reduce = 0, unused = 0;
  int32_t root = -1;
};
static_assert(sizeof(FrameHead) == 40);

inline constexpr int64_t kMaxAtOnce = int64_t{64} << 10;    // max. bytes of a message that is sent without a request
inline constexpr int64_t kMaxInFrame = int64_t{256} << 10;  // max. bytes of a longer message in one frame
inline constexpr int64_t kMaxInTurn = int64_t{2} << 20;     // max. bytes from or to one rank before others are served
inline constexpr size_t kMaxReasonBytes = 4096;             // max. bytes of the text of a failure

/// Returns the head of a message. `channel` is the id of the group, `number` that of the message. The caller sets its
/// kind, `message` or `request`.
FrameHead head_of(const PendingMessage& message, uint64_t channel, uint64_t number);
MessageLabel label_of(const FrameHead& head);
/// Whether a rank of this version may send this head: its kind, collective, type and reduction are known, and its bytes
/// are from 0 to Carrier::kMaxBytes.
bool is_sound(const FrameHead& head);

}  // namespace partita

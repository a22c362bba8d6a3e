#pragma once
// What ranks send each other over sockets: frames, each a head and the bytes after it.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "runtime/comm/carrier.h"

namespace partita {

/// Precedes everything that is sent, as it lies in memory: all ranks run one program on processors of one kind.
struct FrameHead {
  enum class Kind : uint32_t {
    alive,    // nothing else to say
    message,  // and its bytes
    request,  // for leave to send a message; the bytes come after a grant
    grant,    // of the request with this number
    abort,    // the job has failed; the bytes are the reason, `tag` its exit code, `number` the lost rank and 1,
              // `channel` 1 where the reason says how that rank was lost
    leave     // the last frame of a rank that ends well
  };
  Kind kind = Kind::alive;
  int32_t tag = 0;
  uint64_t channel = 0;  // the group
  uint64_t number = 0;   // of the messages of the sender to this rank
  int64_t bytes = 0;     // that follow; of a request: that will
  uint8_t call = 0, dtype = 0, reduce = 0, unused = 0;
  int32_t root = -1;
};
static_assert(sizeof(FrameHead) == 40);

inline constexpr int64_t kMaxAtOnce = int64_t{64} << 10;    // bytes of a message that is sent without leave
inline constexpr int64_t kMaxInFrame = int64_t{256} << 10;  // bytes of a longer message in one frame
inline constexpr int64_t kMaxInTurn = int64_t{2} << 20;     // bytes from, or to, one rank before others have their turn
inline constexpr size_t kMaxReasonBytes = 4096;             // of the text of a failure

/// Returns the head of a message. Its kind, `message` or `request`, is for the caller to set.
FrameHead head_of(const PendingMessage& message, uint64_t channel, uint64_t number);
MessageLabel label_of(const FrameHead& head);
/// Whether some rank of this version may send this head.
bool is_sound(const FrameHead& head);

}  // namespace partita

#pragma once
// The connections of one rank to all others, and the thread that moves what is on them: messages, signs of life, the
// news that the job has failed.

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "comm/carrier.h"
#include "comm/communicator.h"
#include "comm/sockets/socket.h"
#include "comm/world_state.h"

namespace partita {

/// In front of everything that is sent, as it lies in memory: all ranks run one program on processors of one kind.
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

struct ConnectionOptions {
  int rank = 0;
  std::vector<std::string> hosts;  // by rank, for messages
  Timeout stall{};                 // silence after which a rank is lost
};

/// Messages up to 64 KiB are sent at once, and kept by the receiver until it wants them. Longer ones wait until the
/// receiver does, and then go from the sender's buffer into the receiver's, in frames of 256 KiB: what others wait for
/// goes between them, so that both directions of a connection are in use at once. A rank whose connection ends without
/// a `leave`, or on whose connection nothing comes for the stall time, is lost: the world has failed then.
class Connections {
 public:
  static constexpr int64_t kMostAtOnce = int64_t{64} << 10, kMostInFrame = int64_t{256} << 10;

  /// `links`: by rank, none to itself.
  Connections(std::vector<Socket> links, ConnectionOptions options, std::shared_ptr<WorldState> world);
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  int rank() const { return options_.rank; }
  int size() const { return static_cast<int>(links_.size()); }

  // As those of a carrier; `peer` is a rank of the world.
  void start(PendingMessage& transfer, int peer, uint64_t channel);
  void post(const PendingMessage& message, int peer, uint64_t channel);
  bool wait(std::deque<PendingMessage>& transfers, size_t count, Deadline until);
  /// `peers`: of the transfers, ranks of the world.
  bool withdraw(std::deque<PendingMessage>& transfers, std::span<const int> peers, uint64_t channel) noexcept;
  bool has_left(int peer);
  static bool is_done(const PendingMessage& message);

  /// Tells all others why the world has failed; returns when they have it, or soon. Every rank does so that learns of
  /// it, so that nobody takes a rank that ends for this reason for the lost one.
  void broadcast_failure() noexcept;
  /// Nothing more is sent after this. Returns when the others have all, or after a while.
  void leave();

 private:
  static constexpr int64_t kMostAtATime = int64_t{2} << 20;  // from or to one rank before others have their turn
  static constexpr size_t kMostReason = 4096;                // bytes of the text of a failure

  struct Outgoing {
    FrameHead head;
    const std::byte* data = nullptr;
    int64_t bytes = 0;                   // of the message; 0: a head alone
    int64_t first = 0;                   // of them in this frame
    PendingMessage* transfer = nullptr;  // done when this is sent
    std::vector<std::byte> own{};        // the bytes, of a message that was posted
    int64_t sent = 0;                    // of this frame, with the head
    bool is_granted = false;             // the bytes of a request that was granted

    int64_t in_frame() const { return std::min(bytes - first, kMostInFrame); }
  };
  /// A message that may come.
  struct Granted {
    PendingMessage* transfer = nullptr;  // null: not wanted any more
    int64_t bytes = 0, came = 0;
  };
  /// A message that came before it was wanted.
  struct Arrived {
    FrameHead head;
    std::vector<std::byte> bytes{};  // none of a request
    bool complete = false;
    PendingMessage* taker = nullptr;  // wants it while it still comes
  };
  struct Queue {
    std::deque<PendingMessage*> takers;
    std::deque<std::unique_ptr<Arrived>> arrived;
  };
  struct Link {
    Socket socket;
    std::deque<Outgoing> out;
    std::map<uint64_t, Outgoing> requested;  // not granted yet
    std::map<uint64_t, Granted> granted;
    std::map<std::pair<uint64_t, int32_t>, Queue> queues;
    uint64_t messages = 0, last_began = 0;  // numbers of messages: given out here, and of those that the peer began
    bool has_left = false, is_armed = false;
    Deadline heard{}, said{};
    // What is being read.
    std::vector<std::byte> buffer;
    size_t begin = 0, end = 0;
    FrameHead head;
    int64_t rest = 0;                    // of its bytes
    std::byte* target = nullptr;         // null: they are dropped
    PendingMessage* into = nullptr;      // whose memory the target is
    PendingMessage* transfer = nullptr;  // done at the end of the frame
    Arrived* arrived = nullptr;
    std::string reason;
  };

  static bool all_done(const std::deque<PendingMessage>& transfers, size_t count);
  void loop();
  void tick();
  void tell_failure();
  void handle(int peer, uint32_t events);
  static Outgoing outgoing(Link& link, const PendingMessage& message, uint64_t channel);
  void offer(int peer, Outgoing frame);
  void enqueue(int peer, Outgoing frame);
  static void put_in_line(Link& link, Outgoing frame);
  void write_some(int peer);
  void read_some(int peer);
  /// Takes what is in the buffer; false when the peer sent nonsense.
  bool parse(Link& link);
  bool begin_frame(Link& link);
  static void aim(Link& link, PendingMessage& transfer, int64_t first);
  static bool begins_in_order(Link& link);
  static bool begin_granted(Link& link, Granted& message);
  void begin_message(Link& link);
  void end_frame(Link& link);
  bool take_request(Link& link);
  bool send_granted(Link& link);
  void take(Link& link, PendingMessage& transfer, Queue& queue);
  void grant(Link& link, const FrameHead& request, PendingMessage* transfer);
  static void fill(PendingMessage& transfer, const FrameHead& head);
  void finish(PendingMessage& transfer);
  void lose(int peer, ExitCode code, const std::string& what);
  int rank_of(const Link& link) const { return static_cast<int>(&link - links_.data()); }
  bool is_sent(bool acknowledged);
  void await_sent(std::chrono::milliseconds most, bool acknowledged);

  ConnectionOptions options_;
  std::shared_ptr<WorldState> world_;
  std::mutex mutex_;  // guards what follows
  std::vector<Link> links_;
  bool stop_ = false, has_told_ = false;
  EventCount changed_;
  std::atomic<int> waiting_ = 0;  // calls of wait()
  WaitPolicy policy_;
  int poll_ = -1, wake_ = -1;
  class Waker;
  std::shared_ptr<Waker> waker_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace partita

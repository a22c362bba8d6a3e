#pragma once
// Only processes of this job get in. A connection begins with a challenge and a response in both directions:
//
//   the one that listens -> N1, 32 random bytes
//   the one that calls   -> N2, 32 random bytes, and H(key, "calls" N1 N2)
//   the one that listens -> H(key, "listens" N1 N2)
//
// with H = HMAC-SHA-256. Nothing else is read before the response is right, which is 64 bytes whoever sends it.

#include <deque>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "runtime/comm/sockets/keyed_hash.h"
#include "runtime/comm/sockets/socket.h"

namespace partita {

/// What ranks of one run of one job know, and nobody else.
class JobKey {
 public:
  /// `run` tells runs apart that use one secret. Throws InvalidArgument for a secret that is too short.
  JobKey(std::string_view secret, std::string_view run);
  Digest proof(std::string_view role, const Digest& first, const Digest& second) const;

 private:
  Digest key_;
};

/// What a rank says of itself, once it has shown that it belongs to the job.
struct Hello {
  int32_t rank = 0, size = 0;
  int32_t port = 0;  // where it listens
  char address[64] = "";
  char host[64] = "";
  uint64_t host_key = 0;
};

struct Joined {
  Socket socket;
  Hello hello;
};

/// How a call of another rank ended: it was refused where the one that listens has read the response and then closed
/// the connection, and may be made again where that was too busy, or is not there any more.
enum class Joining { done, refused, no_answer };

/// Shows the one that listens that this process knows the key, asks the same of it, and says who this is.
Joining join(const Socket& socket, const JobKey& key, const Hello& own, Deadline until);

/// Accepts connections, one step at a time, so that one that says nothing holds up nobody. Those that do not show that
/// they know the key within five seconds are closed. With too many that wait each has half a second, and one that has
/// not shown it, drawn at random, makes room for the next: who knows the key gets in, at the latest when it calls
/// again. Each takes 128 bytes.
class Gate {
 public:
  Gate(Socket listener, const JobKey& key, int max_waiting)
      : listener_(std::move(listener)), key_(key), max_waiting_(max_waiting) {}

  /// The next rank that joins; none when `until` passes, or one of `watched` can be read.
  std::optional<Joined> next(Deadline until, const std::vector<int>& watched = {});
  /// Connections that did not know the key.
  int64_t strangers() const { return strangers_; }
  const Socket& listener() const { return listener_; }

 private:
  struct Waiting {
    Socket socket;
    Digest nonce;
    Deadline since;
    size_t came = 0;
    bool is_known = false;
    std::vector<std::byte> bytes{};  // the response, then the hello
  };
  bool is_full() const { return waiting_.size() >= max_waiting_; }
  void accept_all();
  /// Closes a connection that does not know the key yet; false when there is none.
  bool make_room();
  /// False: the connection is to be closed.
  bool advance(Waiting& waiting);
  bool check_response(Waiting& waiting);

  Socket listener_;
  const JobKey& key_;
  size_t max_waiting_;
  std::vector<Waiting> waiting_;
  std::minstd_rand numbers_{std::random_device{}()};
  std::deque<Joined> joined_;
  int64_t strangers_ = 0;
};

}  // namespace partita

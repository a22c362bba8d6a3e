#pragma once
// Admits only processes of this job. A connection begins with a challenge and a response in both directions:
//
//   listener -> N1, 32 random bytes
//   caller   -> N2, 32 random bytes, and H(key, "calls" N1 N2)
//   listener -> H(key, "listens" N1 N2)
//
// with H = HMAC-SHA-256. The listener reads nothing but the response, 64 bytes, until it has verified it.

#include <deque>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "runtime/comm/sockets/keyed_hash.h"
#include "runtime/comm/sockets/socket.h"

namespace partita {

/// The key that only ranks of one run of one job know.
class JobKey {
 public:
  /// `run` distinguishes runs that use the same secret. Throws InvalidArgument for a secret of fewer than 16
  /// characters.
  JobKey(std::string_view secret, std::string_view run);
  Digest proof(std::string_view role, const Digest& first, const Digest& second) const;

 private:
  Digest key_;
};

/// The data that a rank sends about itself after it has proved that it belongs to the job.
struct Hello {
  int32_t rank = 0, size = 0;
  int32_t port = 0;  // port on which it listens
  char address[64] = "";
  char host[64] = "";
  uint64_t host_key = 0;
};

struct Joined {
  Socket socket;
  Hello hello;
};

/// Outcome of a call to another rank. refused: the listener has read the response and closed the connection, or its
/// answer was wrong. no_answer: the listener was too busy or is gone; the call may be repeated.
enum class Joining { done, refused, no_answer };

/// Proves to the listener that this process knows the key, asks the same of it, and sends `own`. Returns `no_answer` if
/// `until` passes first or the connection fails, `refused` if the listener closes it after the response or does not
/// prove that it knows the key. Throws RuntimeFailure(internal) if the system has no random bytes.
Joining join(const Socket& socket, const JobKey& key, const Hello& own, Deadline until);

/// Accepts connections, one step at a time, so that a silent one blocks nobody. Connections that do not prove within
/// five seconds that they know the key are closed. If too many wait, each has half a second, and a random unproven one
/// is closed to make room for the next. So a caller with the key gets in, at the latest when it calls again. A waiting
/// connection needs about 128 bytes.
class Gate {
 public:
  Gate(Socket listener, const JobKey& key, int max_waiting)
      : listener_(std::move(listener)), key_(key), max_waiting_(max_waiting) {}

  /// Returns the next rank that joins; none if `until` passes, a file descriptor of `watched` can be read, or polling
  /// fails. Throws RuntimeFailure(internal) if the system has no random bytes.
  std::optional<Joined> next(Deadline until, const std::vector<int>& watched = {});
  /// Number of connections that were closed before they joined.
  int64_t strangers() const { return strangers_; }
  const Socket& listener() const { return listener_; }

 private:
  struct Waiting {
    Socket socket;
    Digest nonce;
    Deadline since;
    size_t received = 0;
    bool is_proved = false;
    std::vector<std::byte> bytes{};  // the response first, then the hello
  };
  bool is_full() const { return waiting_.size() >= max_waiting_; }
  void accept_all();
  /// Closes a connection that has not proved itself yet: a random one of those that wait for half a second or more, if
  /// any, else of all. Returns false if there is none.
  bool make_room();
  /// Reads what a connection sent. Returns false if it has joined, and is in `joined_`, or has to be closed.
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

#pragma once
// TCP sockets, by addresses that were given.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "runtime/comm/event_count.h"

namespace partita {

/// A name or number of a host, and a port.
struct Endpoint {
  std::string host;
  int port = 0;
};

/// "10.0.0.1:2950", "[::1]:2950", "node7:2950". Throws InvalidArgument, which begins with "[where]".
Endpoint parse_endpoint(std::string_view where, const std::string& text);
std::string print(const Endpoint& endpoint);

/// An open file descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int file) : file_(file) {}
  ~Socket() { close(); }
  Socket(Socket&& other) noexcept : file_(other.release()) {}
  Socket& operator=(Socket&& other) noexcept;

  int file() const { return file_; }
  bool is_open() const { return file_ >= 0; }
  int release();
  void close();

 private:
  int file_ = -1;
};

/// Throws RuntimeFailure(out_of_memory), which begins with "[where]", unless this process may have `count` open files;
/// `what` needs them.
void require_open_files(std::string_view where, int64_t count, const std::string& what);

/// Listens on this address alone; port 0: one that is free. Throws RuntimeFailure(peer_lost).
Socket listen_on(const Endpoint& endpoint);
/// Tries again while nobody listens there. None when `until` passes, or `is_over` says so from one attempt to the next.
/// Throws RuntimeFailure for an unknown name.
std::optional<Socket> connect_to(const Endpoint& endpoint, Deadline until,
                                 const std::function<bool()>& is_over = nullptr);
/// Where a listening or connected socket is on this host.
Endpoint local_endpoint(const Socket& socket);

/// Whether something can be read, or written, before `until`.
bool await_readable(const Socket& socket, Deadline until);

/// All bytes before `until`; false when the time passes or the connection ends.
bool send_all(const Socket& socket, std::span<const std::byte> bytes, Deadline until);
bool receive_all(const Socket& socket, std::span<std::byte> bytes, Deadline until);

/// For messages: without delay, never blocking.
void prepare_connection(const Socket& socket);

}  // namespace partita

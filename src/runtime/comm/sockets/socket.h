#pragma once
// TCP sockets between given addresses.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "runtime/comm/event_count.h"

namespace partita {

/// Name or address of a host, and a port.
struct Endpoint {
  std::string host;
  int port = 0;
};

/// Parses "10.0.0.1:2950", "[::1]:2950" or "node7:2950"; the result has no brackets. Throws InvalidArgument for other
/// texts and ports outside 1 to 65535; its message begins with "[where]".
Endpoint parse_endpoint(std::string_view where, const std::string& text);
std::string print(const Endpoint& endpoint);

/// Owner of an open file descriptor.
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

/// Requires that the limit of this process is `count` open files or more, which `what` needs. Throws
/// RuntimeFailure(out_of_memory) otherwise; its message begins with "[where]".
void require_open_files(std::string_view where, int64_t count, const std::string& what);

/// Listens only at this address; port 0 means a free port. Throws RuntimeFailure: usage if all addresses of the name
/// are those of other hosts, peer_lost if it has none now or this host cannot listen there, such as at a port that is
/// taken.
Socket listen_on(const Endpoint& endpoint);
/// Whether a status of getaddrinfo says that a name has no address. Others, such as the failure of a name server, say
/// nothing about the name.
bool has_no_address(int status);
/// Returns why a host name has no address, such as "Name or service not known"; "" if it has one, or if no name server
/// can say so now. May wait for name servers for many seconds.
std::string why_unknown(const std::string& host);
/// Connects to an address, with one attempt or more: tries again while nobody listens there. None if `until` passes, or
/// if `is_over` returns true after an attempt. Throws RuntimeFailure(peer_lost) if the name has no address now.
std::optional<Socket> connect_to(const Endpoint& endpoint, Deadline until,
                                 const std::function<bool()>& is_over = nullptr);
/// Local address, as a number, and port of a listening or connected socket; "" and 0 if they are unknown.
Endpoint local_endpoint(const Socket& socket);

/// Waits until something can be read or the connection has ended, and returns true then; false if `until` passes first
/// or polling fails.
bool await_readable(const Socket& socket, Deadline until);

/// Send or receive all bytes. Return false if `until` passes or the connection ends before.
bool send_all(const Socket& socket, std::span<const std::byte> bytes, Deadline until);
bool receive_all(const Socket& socket, std::span<std::byte> bytes, Deadline until);

/// Prepares a connection for messages: no delay, no blocking.
void prepare_connection(const Socket& socket);

}  // namespace partita

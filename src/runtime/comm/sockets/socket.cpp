#include "runtime/comm/sockets/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/plain_text.h"

namespace partita {
namespace {

constexpr int kMaxUnsent = 128 << 10;
constexpr std::chrono::milliseconds kRetryInterval{20};
constexpr std::chrono::milliseconds kOneAttempt{2000};

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses resolve(const Endpoint& endpoint, bool listens) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (listens ? AI_PASSIVE : 0);
  addrinfo* found = nullptr;
  const int status = ::getaddrinfo(endpoint.host.c_str(), fmt::to_string(endpoint.port).c_str(), &hints, &found);
  if (status == 0) return {found, &::freeaddrinfo};
  // The name may exist in another attempt: some appear with the machine or the container that they name.
  throw RuntimeFailure(ExitCode::peer_lost,
                       fmt::format("[sockets] no address of host '{}': {}", endpoint.host, ::gai_strerror(status)));
}

/// Milliseconds until then for poll, which takes an int; at least 0, a minute at most.
int wait_time(Deadline until) {
  const auto rest = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(rest, 0, 60'000));
}

bool await(const Socket& socket, short events, Deadline until) {
  while (true) {
    pollfd entry{.fd = socket.file(), .events = events};
    const int ready = ::poll(&entry, 1, wait_time(until));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
    if (std::chrono::steady_clock::now() >= until) return false;
  }
}

bool is_connected(const Socket& socket, Deadline until) {
  if (!await(socket, POLLOUT, until)) return false;
  int error = 0;
  socklen_t length = sizeof error;
  return ::getsockopt(socket.file(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0;
}

/// Whether a socket is connected to itself: one that gets a free port of its own host may get the port that it calls.
bool is_own_peer(const Socket& socket) {
  sockaddr_storage own{}, peer{};
  socklen_t own_length = sizeof own, peer_length = sizeof peer;
  return ::getsockname(socket.file(), reinterpret_cast<sockaddr*>(&own), &own_length) == 0 &&
         ::getpeername(socket.file(), reinterpret_cast<sockaddr*>(&peer), &peer_length) == 0 &&
         own_length == peer_length && std::memcmp(&own, &peer, own_length) == 0;
}

}  // namespace

Endpoint parse_endpoint(std::string_view where, const std::string& text) {
  const size_t colon = text.rfind(':');
  Endpoint endpoint;
  const std::string_view digits = colon == std::string::npos ? "" : std::string_view(text).substr(colon + 1);
  endpoint.port = parse_number<decltype(endpoint.port)>(digits).value_or(0);
  endpoint.host = text.substr(0, colon == std::string::npos ? 0 : colon);
  if (endpoint.host.size() > 2 && endpoint.host.front() == '[' && endpoint.host.back() == ']') {
    endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
  }
  // "2001:db8::12" is an address without a port.
  in6_addr whole{};
  const bool is_address = ::inet_pton(AF_INET6, text.c_str(), &whole) == 1;
  if (!is_address && endpoint.port >= 1 && endpoint.port <= 65535 && !endpoint.host.empty() &&
      endpoint.host.size() <= 255) {
    return endpoint;
  }
  throw InvalidArgument(fmt::format("[{}] not an address, got '{}', expected HOST:PORT{} with a port of 1 to 65535",
                                    where, text, is_address ? ", as [2001:db8::12]:2950," : ""));
}

std::string print(const Endpoint& endpoint) {
  const bool has_colons = endpoint.host.find(':') != std::string::npos;
  return fmt::format(fmt::runtime(has_colons ? "[{}]:{}" : "{}:{}"), endpoint.host, endpoint.port);
}

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    close();
    file_ = other.release();
  }
  return *this;
}

int Socket::release() { return std::exchange(file_, -1); }

void Socket::close() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

void require_open_files(std::string_view where, int64_t count, const std::string& what) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= static_cast<rlim_t>(count)) return;
  throw RuntimeFailure(ExitCode::out_of_memory,
                       fmt::format("[{}] too few open files for {}, got a limit of {}, expected {} or more (ulimit -n)",
                                   where, what, limit.rlim_cur, count));
}

bool has_no_address(int status) { return status == EAI_NONAME || status == EAI_NODATA || status == EAI_ADDRFAMILY; }

std::string why_unknown(const std::string& host) {
  addrinfo* found = nullptr;
  const int status = ::getaddrinfo(host.c_str(), nullptr, nullptr, &found);
  if (status == 0) ::freeaddrinfo(found);
  return has_no_address(status) ? ::gai_strerror(status) : "";
}

Socket listen_on(const Endpoint& endpoint) {
  const Addresses addresses = resolve(endpoint, /*listens=*/true);
  int error = EADDRNOTAVAIL;
  bool is_foreign = true;  // whether this host has none of the addresses
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    Socket socket(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.is_open()) {
      error = errno;
      is_foreign = false;
      continue;
    }
    const int yes = 1;
    ::setsockopt(socket.file(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (::bind(socket.file(), one->ai_addr, one->ai_addrlen) == 0 && ::listen(socket.file(), SOMAXCONN) == 0) {
      return socket;
    }
    error = errno;
    is_foreign = is_foreign && error == EADDRNOTAVAIL;
  }
  // An address of another host stays wrong in another attempt, a port is free later.
  const ExitCode code = is_foreign ? ExitCode::usage : ExitCode::peer_lost;
  throw RuntimeFailure(code, fmt::format("[sockets] cannot listen on {}: {}, expected a free port of "
                                         "an address of this host",
                                         print(endpoint), std::strerror(error)));
}

std::optional<Socket> connect_to(const Endpoint& endpoint, Deadline until, const std::function<bool()>& is_over) {
  const Addresses addresses = resolve(endpoint, /*listens=*/false);
  do {
    for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
      Socket socket(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (!socket.is_open()) continue;
      const int status = ::connect(socket.file(), one->ai_addr, one->ai_addrlen);
      const Deadline attempt = std::min(until, deadline_after(kOneAttempt));
      if (status == 0 || (errno == EINPROGRESS && is_connected(socket, attempt))) {
        if (!is_own_peer(socket)) return socket;
      }
    }
    std::this_thread::sleep_for(kRetryInterval);
  } while (std::chrono::steady_clock::now() < until && !(is_over && is_over()));
  return std::nullopt;
}

Endpoint local_endpoint(const Socket& socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "0";
  if (::getsockname(socket.file(), reinterpret_cast<sockaddr*>(&address), &length) == 0) {
    ::getnameinfo(reinterpret_cast<sockaddr*>(&address), length, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV);
  }
  return {host, parse_number<int>(port).value_or(0)};
}

bool await_readable(const Socket& socket, Deadline until) { return await(socket, POLLIN, until); }

bool send_all(const Socket& socket, std::span<const std::byte> bytes, Deadline until) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket.file(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes = bytes.subspan(static_cast<size_t>(sent));
    } else if (sent < 0 && errno != EAGAIN && errno != EINTR) {
      return false;
    } else if (!await(socket, POLLOUT, until)) {
      return false;
    }
  }
  return true;
}

bool receive_all(const Socket& socket, std::span<std::byte> bytes, Deadline until) {
  while (!bytes.empty()) {
    const ssize_t received = ::recv(socket.file(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (received > 0) {
      bytes = bytes.subspan(static_cast<size_t>(received));
    } else if (received == 0 || (errno != EAGAIN && errno != EINTR)) {
      return false;
    } else if (!await(socket, POLLIN, until)) {
      return false;
    }
  }
  return true;
}

void prepare_connection(const Socket& socket) {
  const int yes = 1;
  ::setsockopt(socket.file(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  // Keeps the kernel's queue short, so that an urgent frame waits for no more than that.
  ::setsockopt(socket.file(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kMaxUnsent, sizeof kMaxUnsent);
  ::fcntl(socket.file(), F_SETFL, ::fcntl(socket.file(), F_GETFL) | O_NONBLOCK);
}

}  // namespace partita

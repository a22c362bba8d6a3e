#include "runtime/comm/sockets/addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>

#include "runtime/comm/sockets/socket.h"

namespace partita {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

/// Returns the addresses of a host; null for a name without any.
Addresses resolved(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  constexpr const char* kDiscard = "9";  // nothing is sent there
  if (::getaddrinfo(host.c_str(), kDiscard, &hints, &found) != 0) found = nullptr;
  return {found, &::freeaddrinfo};
}

bool leads_back(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    return (ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24) == IN_LOOPBACKNET;
  }
  const in6_addr& number = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&number) || (IN6_IS_ADDR_V4MAPPED(&number) && number.s6_addr[12] == IN_LOOPBACKNET);
}

std::string number_of(const sockaddr& address) {
  char host[NI_MAXHOST] = "";
  const socklen_t length = address.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  ::getnameinfo(&address, length, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  return host;
}

/// Returns the address of this host from which it would send to another; "" if that is a loopback address or there is
/// no route.
std::string source_to(const std::string& host) {
  const Addresses addresses = resolved(host);
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    const Socket socket(::socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    // Connecting a datagram socket only looks up the route.
    if (!socket.is_open() || ::connect(socket.file(), one->ai_addr, one->ai_addrlen) != 0) continue;
    sockaddr_storage source{};
    socklen_t length = sizeof source;
    if (::getsockname(socket.file(), reinterpret_cast<sockaddr*>(&source), &length) != 0) continue;
    const auto& address = reinterpret_cast<const sockaddr&>(source);
    if (!leads_back(address)) return number_of(address);
  }
  return "";
}

/// Whether the address is link-local: valid only on one link, together with each host's own name for it.
bool is_of_one_link(const sockaddr& address) {
  return address.sa_family == AF_INET6 &&
         IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr);
}

std::string address_of_first_network() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return "";
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, &::freeifaddrs);
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
      const bool is_up = (one->ifa_flags & IFF_UP) != 0 && one->ifa_addr != nullptr;
      if (!is_up || one->ifa_addr->sa_family != family || leads_back(*one->ifa_addr)) continue;
      if (!is_of_one_link(*one->ifa_addr)) return number_of(*one->ifa_addr);
    }
  }
  return "";
}

}  // namespace

bool is_loopback(const std::string& host) {
  const Addresses addresses = resolved(host);
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    if (!leads_back(*one->ai_addr)) return false;
  }
  return addresses != nullptr;
}

bool is_number(const std::string& host) {
  in6_addr number{};
  return ::inet_pton(AF_INET, host.c_str(), &number) == 1 || ::inet_pton(AF_INET6, host.c_str(), &number) == 1;
}

std::string outward_address(std::span<const std::string> others) {
  for (const std::string& other : others) {
    if (std::string address = source_to(other); !address.empty()) return address;
  }
  constexpr const char* kFarAway = "192.0.2.1";  // reserved for documentation: no host has it
  std::string address = others.empty() ? source_to(kFarAway) : "";
  return address.empty() ? address_of_first_network() : address;
}

}  // namespace partita

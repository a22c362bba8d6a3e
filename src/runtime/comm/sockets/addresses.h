#pragma once
// Addresses of this host, as other hosts see them.

#include <span>
#include <string>

namespace partita {

/// Whether every address of a host is a loopback address (127.0.0.0/8, ::1). Debian gives a host's own name such an
/// address, 127.0.1.1. False for a name without an address.
bool is_loopback(const std::string& host);

/// Whether a host is given by its IPv4 or IPv6 address, not by a name. False for an address with the name of a link.
bool is_number(const std::string& host);

/// Returns an address of this host for other hosts. It is the one from which it would send to the first of `others`
/// that has a route and no loopback address; if `others` is empty, the one from which it reaches distant hosts. If
/// there is none, it is that of the first network of this host, or "" if that has only loopback addresses.
std::string outward_address(std::span<const std::string> others);

}  // namespace partita

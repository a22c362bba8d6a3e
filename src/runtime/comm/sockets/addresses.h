#pragma once
// Addresses of this host, as other hosts see it.

#include <span>
#include <string>

namespace partita {

/// Whether every address of a host leads back to whoever uses it (127.0.0.0/8, ::1). Debian gives the own name of a
/// host such an address, 127.0.1.1. False for a name without an address.
bool is_loopback(const std::string& host);

/// Whether a host is given by its address, not by a name.
bool is_number(const std::string& host);

/// An address of this host for others: that from which it calls the first of `others` that it can, and without any that
/// from which it calls hosts far away, or that of its first network. "": it has only loopback addresses.
std::string outward_address(std::span<const std::string> others);

}  // namespace partita

#pragma once
// SHA-256 (FIPS 180-4) and the keyed hash that is made of it (HMAC, RFC 2104): what ranks prove that they know the
// secret of their job with.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace partita {

using Digest = std::array<std::byte, 32>;

Digest sha256(std::span<const std::byte> message);
Digest keyed_hash(std::span<const std::byte> key, std::span<const std::byte> message);

/// In a time that does not depend on where they differ.
bool equal_digests(const Digest& a, const Digest& b);

/// From the kernel. Throws RuntimeFailure when it has none.
Digest random_bytes();

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace partita

#pragma once
// SHA-256 (FIPS 180-4) and the keyed hash based on it (HMAC, RFC 2104), with which ranks prove that they know the
// secret of their job.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace partita {

using Digest = std::array<std::byte, 32>;

Digest sha256(std::span<const std::byte> message);
/// HMAC-SHA-256 of a message.
Digest keyed_hash(std::span<const std::byte> key, std::span<const std::byte> message);

/// Whether two digests are equal, compared in a time that does not depend on the position of a difference.
bool equal_digests(const Digest& a, const Digest& b);

/// 32 random bytes from the kernel. Throws RuntimeFailure(internal) if it has none.
Digest random_bytes();

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace partita

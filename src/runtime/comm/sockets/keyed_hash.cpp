#include "runtime/comm/sockets/keyed_hash.h"

#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "base/error.h"

namespace partita {
namespace {

constexpr size_t kBlock = 64;

// The fractional parts of the cube roots of the first 64 primes.
constexpr uint32_t kRounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using Words = std::array<uint32_t, 8>;

void add_block(Words& state, const std::byte* block) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i) {
    const auto part = [&](int k) { return static_cast<uint32_t>(block[4 * i + k]); };
    w[i] = part(0) << 24 | part(1) << 16 | part(2) << 8 | part(3);
  }
  for (int i = 16; i < 64; ++i) {
    const uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + w[i - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (int i = 0; i < 64; ++i) {
    const uint32_t choice = (e & f) ^ (~e & g), majority = (a & b) ^ (a & c) ^ (b & c);
    const uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + choice + kRounds[i] + w[i];
    const uint32_t second = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + majority;
    h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
  }
  const Words sum{a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i) state[i] += sum[i];
}

}  // namespace

Digest sha256(std::span<const std::byte> message) {
  // The fractional parts of the square roots of the first 8 primes.
  Words state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  size_t done = 0;
  for (; message.size() - done >= kBlock; done += kBlock) add_block(state, message.data() + done);
  // Padding: the rest, a one bit, zeros, and the length in bits.
  std::array<std::byte, 2 * kBlock> last{};
  const size_t rest = message.size() - done, length = rest + 9 <= kBlock ? kBlock : 2 * kBlock;
  std::copy(message.begin() + done, message.end(), last.begin());
  last[rest] = std::byte{0x80};
  const uint64_t bits = 8 * static_cast<uint64_t>(message.size());
  for (size_t i = 0; i < 8; ++i) last[length - 1 - i] = static_cast<std::byte>(bits >> (8 * i));
  for (size_t at = 0; at < length; at += kBlock) add_block(state, last.data() + at);
  Digest digest;
  for (size_t i = 0; i < digest.size(); ++i) digest[i] = static_cast<std::byte>(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

Digest keyed_hash(std::span<const std::byte> key, std::span<const std::byte> message) {
  std::array<std::byte, kBlock> padded{};
  if (key.size() > kBlock) {
    const Digest shorter = sha256(key);
    std::copy(shorter.begin(), shorter.end(), padded.begin());
  } else {
    std::copy(key.begin(), key.end(), padded.begin());
  }
  std::vector<std::byte> inner, outer;
  for (const std::byte byte : padded) {
    inner.push_back(byte ^ std::byte{0x36});
    outer.push_back(byte ^ std::byte{0x5c});
  }
  inner.insert(inner.end(), message.begin(), message.end());
  const Digest digest = sha256(inner);
  outer.insert(outer.end(), digest.begin(), digest.end());
  return sha256(outer);
}

bool equal_digests(const Digest& a, const Digest& b) {
  volatile unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference = difference | static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

Digest random_bytes() {
  Digest bytes;
  if (::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size())) return bytes;
  throw RuntimeFailure(ExitCode::internal, "[sockets] no random bytes from the system");
}

}  // namespace partita

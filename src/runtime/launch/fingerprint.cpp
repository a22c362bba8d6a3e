#include "runtime/launch/fingerprint.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <fstream>
#include <numeric>

#include "base/error.h"

namespace partita {
namespace {

constexpr char kEnd = '\n';

std::string packed(const LaunchFingerprint& fingerprint) {
  std::string text;
  for (const auto& [name, value] : fingerprint) text += name + "=" + value + kEnd;
  return text;
}

/// Returns the first line that differs, as it is in `own` and in `expected`; "" for a line that is missing. Both are ""
/// if the texts are equal.
std::pair<std::string_view, std::string_view> first_difference(std::string_view own, std::string_view expected) {
  while (true) {
    const std::string_view a = own.substr(0, own.find(kEnd)), b = expected.substr(0, expected.find(kEnd));
    if (a != b || (own.empty() && expected.empty())) return {a, b};
    own.remove_prefix(std::min(own.size(), a.size() + 1));
    expected.remove_prefix(std::min(expected.size(), b.size() + 1));
  }
}

}  // namespace

uint64_t digest_of(std::string_view text, uint64_t before) {
  constexpr uint64_t kBasis = 14695981039346656037ULL, kPrime = 1099511628211ULL;
  uint64_t hash = kBasis ^ before;
  for (unsigned char c : text) hash = (hash ^ c) * kPrime;
  return hash;
}

uint64_t digest_of(const Array& array, uint64_t before) {
  return digest_of({static_cast<const char*>(array.data()), static_cast<size_t>(array.type().bytes())}, before);
}

uint64_t digest_of(const std::map<std::string, Array>& arrays) {
  uint64_t digest = 0;
  for (const auto& [name, array] : arrays) digest = digest_of(array, digest_of(name, digest));
  return digest;
}

std::string print_digest(uint64_t digest) { return fmt::format("{:016x}", digest); }

uint64_t digest_of_executable() {
  static const uint64_t digest = [] {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    uint64_t hash = 0;
    std::vector<char> block(1 << 20);
    while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0) {
      hash = XXH3_64bits_withSeed(block.data(), static_cast<size_t>(file.gcount()), hash);
    }
    return hash;
  }();
  return digest;
}

void require_same_fingerprint(const LaunchFingerprint& fingerprint, Communicator& comm) {
  const std::string own = packed(fingerprint);
  const std::vector<int64_t> ones(comm.size(), 1);
  std::vector<int64_t> sizes(comm.size());
  const auto size = static_cast<int64_t>(own.size());
  comm.all_gather(&size, sizes.data(), ones, DType::i64);
  std::string all(std::accumulate(sizes.begin(), sizes.end(), int64_t{0}), '\0');
  comm.all_gather(own.data(), all.data(), sizes, DType::u8);
  const std::string_view first = std::string_view(all).substr(0, sizes[0]);
  int64_t at = 0;
  for (int rank = 0; rank < comm.size(); at += sizes[rank++]) {
    const std::string_view other = std::string_view(all).substr(at, sizes[rank]);
    if (other == first) continue;
    const auto [got, expected] = first_difference(other, first);
    throw RuntimeFailure(ExitCode::ranks_disagree,
                         "[launch] ranks were started differently, got {} on rank {}, expected {} as on rank 0", got,
                         rank, expected);
  }
}

}  // namespace partita

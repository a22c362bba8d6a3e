#include "runtime/comm/processes/host.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include "base/system_files.h"
#include "base/usable_cores.h"

namespace partita {
namespace {

constexpr size_t kNameBytes = 64;

/// Device and inode of a path; "" if unknown.
std::string identity_of(const char* path) {
  struct stat status {};
  return ::stat(path, &status) == 0 ? fmt::format("{}:{}", status.st_dev, status.st_ino) : "";
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

uint64_t host_key() {
  uint64_t key = 14695981039346656037ULL;
  const std::string identity = fmt::format("{}|{}|{}|{}", first_line("/proc/sys/kernel/random/boot_id"),
                                           identity_of("/dev/shm"), identity_of("/proc/self/ns/net"), host_name());
  for (const unsigned char c : identity) key = (key ^ c) * 1099511628211ULL;
  return key;
}

bool all_agree(const Gather& gather, bool own) {
  const std::byte here{static_cast<unsigned char>(own ? 1 : 0)};
  const std::vector<std::byte> all = gather({&here, 1});
  return std::all_of(all.begin(), all.end(), [](std::byte one) { return one != std::byte{0}; });
}

std::string name_from(const Gather& gather, int root, const std::string& name) {
  std::array<std::byte, kNameBytes> own{};
  std::memcpy(own.data(), name.data(), std::min(name.size(), own.size() - 1));
  const std::vector<std::byte> all = gather(own);
  const auto* text = reinterpret_cast<const char*>(all.data() + root * own.size());
  return {text, strnlen(text, own.size())};
}

std::shared_ptr<const Host> find_host(const Gather& gather, int rank, int size, uint64_t key) {
  Host host;
  host.keys.resize(size);
  const std::vector<std::byte> keys = gather({reinterpret_cast<const std::byte*>(&key), sizeof key});
  std::memcpy(host.keys.data(), keys.data(), keys.size());
  for (int r = 0; r < size; ++r) {
    if (host.keys[r] != key) continue;
    if (r == rank) host.place.rank = static_cast<int>(host.ranks.size());
    host.ranks.push_back(r);
  }
  host.place.size = static_cast<int>(host.ranks.size());
  host.cores = usable_cores().shared();
  // Each host has one file, which its first rank creates. It is used on all hosts or on none: the world decides
  // together.
  if (host.place.rank == 0) host.presence = Presence::create();
  const std::string name = name_from(gather, host.ranks[0], host.presence ? host.presence->name() : "");
  if (host.place.rank != 0 && !name.empty()) host.presence = Presence::open(name);
  const bool here = all_agree(gather, host.presence && host.presence->enter(rank));
  if (host.place.rank == 0 && host.presence) host.presence->unlink();
  if (!here) host.presence.reset();
  return std::make_shared<const Host>(std::move(host));
}

}  // namespace partita

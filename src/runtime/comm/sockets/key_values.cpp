#include "runtime/comm/key_values.h"

#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "runtime/comm/sockets/addresses.h"
#include "runtime/comm/sockets/value_caller.h"

namespace partita {
namespace {

constexpr int64_t kAddressBytes = 64;

/// The place of the store, and what its key is made of.
struct StoreInvitation {
  char endpoint[kAddressBytes + 8] = "";
  Digest secret{};
};

/// Returns the address at which rank 0 listens. A collective call; the other ranks get theirs.
std::string listening_address(Communicator& world) {
  if (world.host_place().size == world.size()) return "127.0.0.1";
  std::string own = outward_address({});
  own.resize(kAddressBytes - 1);
  std::vector<char> all(static_cast<size_t>(kAddressBytes * world.size()));
  world.all_gather(own.c_str(), all.data(), std::vector<int64_t>(static_cast<size_t>(world.size()), kAddressBytes),
                   DType::u8);
  const char* given = std::getenv("PARTITA_ADDRESS");
  if (given != nullptr && *given != '\0' && !is_loopback(given)) return given;
  std::vector<std::string> others;
  for (size_t rank = 0; rank < static_cast<size_t>(world.size()); ++rank) {
    const std::string other(&all[rank * kAddressBytes]);
    if (!other.empty() && other != own.c_str()) others.push_back(other);
  }
  return outward_address(others);
}

/// Returns the key of a store: made of a number that rank 0 draws and, where the job has one, of the secret of the job,
/// which no message carries.
JobKey key_of(const Digest& drawn) {
  std::string secret(reinterpret_cast<const char*>(drawn.data()), drawn.size());
  if (const char* of_job = std::getenv("PARTITA_SECRET"); of_job != nullptr) secret += of_job;
  return {secret, "values"};
}

}  // namespace

std::shared_ptr<KeyValues> share_key_values(Communicator& world) {
  const std::string address = listening_address(world);
  StoreInvitation invitation;
  std::shared_ptr<KeyValues> table;
  if (world.rank() == 0) {
    if (address.empty()) {
      throw RuntimeFailure(ExitCode::usage,
                           "[values] no address of this host for others, got loopback addresses alone, expected a "
                           "network, or PARTITA_ADDRESS, or --collectives cut");
    }
    invitation.secret = random_bytes();
    Socket listener = listen_on({address, 0});
    print(local_endpoint(listener)).copy(invitation.endpoint, sizeof invitation.endpoint - 1);
    table = std::make_shared<ValueTable>(std::move(listener), key_of(invitation.secret));
  }
  world.broadcast(&invitation, sizeof invitation, DType::u8, 0);
  if (world.rank() == 0) return table;
  return std::make_shared<ValueCaller>(parse_endpoint("values", invitation.endpoint), key_of(invitation.secret),
                                       world.failure_check());
}

}  // namespace partita

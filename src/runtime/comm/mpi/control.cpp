#include "runtime/comm/mpi/control.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "runtime/comm/mpi/carrier.h"
#include "runtime/comm/processes/host.h"
#include "runtime/comm/sockets/rendezvous.h"
#include "runtime/comm/sockets/timeouts.h"

namespace partita {
namespace {

/// More ranks would need too many open files; MPI then has to do alone.
constexpr int kMaxMpiRanks = 256;

/// Returns the address in a launcher's URI: "10.0.0.1" for "123.0;tcp://10.0.0.1,192.168.0.1:45678" or
/// "123.0;tcp4://10.0.0.1:45678"; "" for null and for texts without "//".
std::string address_in(const char* uri) {
  const std::string text(uri == nullptr ? "" : uri);
  const size_t begin = text.find("//");
  if (begin == std::string::npos) return "";
  return text.substr(begin + 2, text.find_first_of(",:", begin + 2) - begin - 2);
}

/// Returns the address of this host from which packets to the IPv4 address `target` would go; "" if there is none or
/// `target` is no such address. Sends none.
std::string address_towards(const std::string& target) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(9);
  if (::inet_pton(AF_INET, target.c_str(), &address.sin_addr) != 1) return "";
  const Socket socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.file(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return "";
  return local_endpoint(socket).host;
}

std::string own_address() {
  for (const char* name : {"OMPI_MCA_orte_hnp_uri", "PMIX_SERVER_URI2", "PMIX_SERVER_URI"}) {
    const std::string address = address_towards(address_in(std::getenv(name)));
    if (!address.empty() && !address.starts_with("127.")) return address;
  }
  return "";
}

struct Invitation {
  char master[64] = "";
  Digest secret{};
};

bool all_are(bool own) {
  int here = own ? 1 : 0, everywhere = 0;
  check_mpi(mpi().allreduce(&here, &everywhere, 1, mpi().integer, mpi().min, mpi().comm_world), "all_reduce");
  return everywhere == 1;
}

/// Whether all processes of MPI's world are on one host, i.e. have the same host key. `key` is that of this process. A
/// collective call. Throws RuntimeFailure if MPI fails (out_of_memory if it lacks memory, else peer_lost).
bool is_one_host(uint64_t key) {
  uint64_t first = key;
  check_mpi(mpi().bcast(&first, sizeof first, mpi().byte, 0, mpi().comm_world), "broadcast");
  return all_are(first == key);
}

}  // namespace

std::shared_ptr<Connections> make_control_connections(uint64_t host_key, std::shared_ptr<WorldState> state) {
  RendezvousOptions options;
  options.host_key = host_key;
  options.host = host_name();
  options.timeout = start_timeout();
  mpi().comm_rank(mpi().comm_world, &options.rank);
  mpi().comm_size(mpi().comm_world, &options.size);
  options.address = is_one_host(host_key) ? "127.0.0.1" : own_address();
  if (!all_are(!options.address.empty() && options.size > 1 && options.size <= kMaxMpiRanks)) return nullptr;
  Socket listener;
  Invitation invitation;
  if (options.rank == 0) {
    listener = listen_on({options.address, 0});
    options.listener = listener.file();
    print(local_endpoint(listener)).copy(invitation.master, sizeof invitation.master - 1);
    invitation.secret = random_bytes();
  }
  check_mpi(mpi().bcast(&invitation, sizeof invitation, mpi().byte, 0, mpi().comm_world), "broadcast");
  options.master = parse_endpoint("mpi", invitation.master);
  listener.release();
  const std::string_view secret(reinterpret_cast<const char*>(invitation.secret.data()), invitation.secret.size());
  const JobKey key(secret, "mpi");
  Rendezvous met = meet(options, key);
  return std::make_shared<Connections>(
      std::move(met.links),
      ConnectionOptions{.rank = options.rank, .hosts = std::move(met.hosts), .stall = stall_timeout()},
      std::move(state));
}

}  // namespace partita

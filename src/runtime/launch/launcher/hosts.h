#pragma once
// The hosts on which a job runs, and the number of ranks on each.

#include <string>
#include <vector>

namespace partita {

struct HostSlots {
  std::string name;  // or address, in the form of ssh: "node1", "me@node1", "2001:db8::12"
  int slots = 1;
  bool operator==(const HostSlots&) const = default;

  /// The name without a user.
  std::string address() const { return name.substr(name.find('@') + 1); }
};

/// Parses "a:4,b:4". A host without a number has one slot. Two or more colons without brackets belong to an IPv6
/// address, which is written in brackets if a number follows: "[2001:db8::12]:4". Throws InvalidArgument for other
/// texts, and for more than kMaxJobRanks slots in all.
std::vector<HostSlots> parse_hosts(const std::string& text);

/// Parses a file with one host per line, in the form of mpirun: "node1 slots=8", "me@node2:8", "node3"; "#" begins a
/// comment. Spaces around "=" and a byte order mark before the first line are allowed. A limit "max_slots=8" is
/// accepted and ignored. Throws InvalidFile for other lines, naming them, for too many slots, and if there is no host.
/// read_hostfile also throws InvalidFile if the file is larger than 1 MiB, MissingFile if it is no regular file or
/// cannot be read.
std::vector<HostSlots> parse_hostfile(const std::string& path, const std::string& text);
std::vector<HostSlots> read_hostfile(const std::string& path);

/// Returns the servers of a rank table with their numbers of ranks, in the order of the ranks. An only server is called
/// "localhost". Throws InvalidFile if the ranks of a server are not consecutive or its address is none, the file is
/// larger than 16 MiB or is not a rank table; MissingFile if it is no regular file or cannot be read.
std::vector<HostSlots> hosts_of_rank_table(const std::string& path);

/// Returns the hosts with the first `ranks` of their slots; 0 means all of them. Hosts without a slot are left out.
/// Throws InvalidArgument if there are fewer slots.
std::vector<HostSlots> taken_slots(std::vector<HostSlots> hosts, int ranks);

/// Total number of slots.
int slots_of(const std::vector<HostSlots>& hosts);

}  // namespace partita

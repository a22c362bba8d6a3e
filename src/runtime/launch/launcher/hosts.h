#pragma once
// Which hosts a job runs on, and how many ranks on each.

#include <string>
#include <vector>

namespace partita {

struct HostSlots {
  std::string name;  // or address, as ssh takes it: "node1", "me@node1", "2001:db8::12"
  int slots = 1;
  bool operator==(const HostSlots&) const = default;

  /// The name without a user.
  std::string address() const { return name.substr(name.find('@') + 1); }
};

/// "a:4,b:4"; a host without a number has one slot. Two or more colons without brackets are those of an IPv6 address,
/// which with a number stands in brackets: "[2001:db8::12]:4". Throws InvalidArgument.
std::vector<HostSlots> parse_hosts(const std::string& text);

/// A file with a host on each line, as mpirun reads it: "node1 slots=8", "me@node2:8", "node3"; "#" begins a comment.
/// There may be spaces around the "=", and a byte order mark before the first line.
/// Throws MissingFile, InvalidFile, which name the line. Files of more than 1 MiB are refused.
std::vector<HostSlots> parse_hostfile(const std::string& path, const std::string& text);
std::vector<HostSlots> read_hostfile(const std::string& path);

/// The servers of a rank table, in the order of their ranks. Throws InvalidFile for tables whose ranks are not in one
/// run on each server, or whose addresses are none, and as read_rank_table does.
std::vector<HostSlots> hosts_of_rank_table(const std::string& path);

/// The first `ranks` slots; 0: all of them. Throws InvalidArgument when there are fewer.
std::vector<HostSlots> taken_slots(std::vector<HostSlots> hosts, int ranks);

int slots_of(const std::vector<HostSlots>& hosts);

}  // namespace partita

// Which hosts a job runs on: --hosts, and files of hosts.

#include "runtime/launch/launcher/hosts.h"

#include "fuzz/target.h"

namespace partita {
namespace {

std::string print_hosts(const std::vector<HostSlots>& hosts, std::string_view between) {
  std::string text;
  for (const HostSlots& host : hosts) {
    const std::string user = host.name.substr(0, host.name.find('@') + 1), address = host.address();
    const bool has_colons = address.find(':') != std::string::npos;
    text += std::string(text.empty() ? "" : between) + user + (has_colons ? "[" + address + "]" : address) + ":" +
            std::to_string(host.slots);
  }
  return text;
}

void check_hosts(const std::vector<HostSlots>& hosts) {
  int64_t all = 0;
  for (const HostSlots& host : hosts) {
    require(!host.name.empty() && host.name[0] != '-', "a name that ssh takes for an option");
    all += host.slots;
  }
  require(all >= static_cast<int64_t>(hosts.size()) && all == slots_of(hosts), "slots are not counted");
  require(slots_of(taken_slots(hosts, 1)) == 1, "one rank takes another number of slots");
}

void read_host_list(const std::string& input) {
  const std::vector<HostSlots> hosts = parse_hosts(input);
  check_hosts(hosts);
  require_fixed_point([](const auto& read) { return print_hosts(read, ","); }, parse_hosts, print_hosts(hosts, ","));
}

void read_host_file(const std::string& input) {
  const auto parse = [](const std::string& text) { return parse_hostfile("hosts.txt", text); };
  const std::vector<HostSlots> hosts = parse(input);
  check_hosts(hosts);
  require_fixed_point([](const auto& read) { return print_hosts(read, "\n"); }, parse, print_hosts(hosts, "\n"));
}

}  // namespace

std::vector<FuzzTarget> hosts_targets() {
  const std::vector<std::string> words{"[::1]",     ":65536", "slots=", "max_slots=",   "max-slots=",
                                       "localhost", " = ",    "me@",    "2001:db8::12", "fe80::1%eth0"};
  return {
      {.name = "hosts",
       .seeds =
           [] {
             return std::vector<std::string>{"a:4,b:4", "localhost", "[fe80::1]:2,10.0.0.1"};
           },
       .read = read_host_list,
       .words = words},
      {.name = "hostfile",
       .seeds =
           [] { return std::vector<std::string>{"# hosts\nnode1 slots=8\nnode2:8 max_slots=9 # two\n\nnode3\r\n"}; },
       .read = read_host_file,
       .words = words}};
}

}  // namespace partita

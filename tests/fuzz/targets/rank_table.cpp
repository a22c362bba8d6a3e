// Tables of ranks.

#include "runtime/launch/rank_table.h"

#include "fuzz/files.h"
#include "fuzz/target.h"
#include "runtime/launch/launcher/hosts.h"

namespace partita {
namespace {

constexpr const char* kServerTable = R"({"version": "1.0", "server_count": "2", "status": "completed", "server_list": [
  {"server_id": "10.0.0.1", "device": [{"device_id": "0", "device_ip": "192.1.1.1", "rank_id": "0"},
                                       {"device_id": "1", "device_ip": "192.1.1.2", "rank_id": "1"}]},
  {"server_id": "b", "server_ip": "10.0.0.2", "device": [{"device_id": 0, "rank_id": 2}]}]})";

constexpr const char* kGroupTable = R"({"status": "completed", "group_count": "1", "group_list": [
  {"group_name": "g", "instance_count": "2", "device_count": "2", "instance_list": [
    {"pod_name": "p0", "server_id": "10.0.0.1", "devices": [{"device_id": "4"}], "rank_id": "0"},
    {"pod_name": "p1", "server_id": "10.0.0.2", "devices": [{"device_id": "5"}], "rank_id": "1"}]}]})";

void read_table_of_ranks(const std::string& input) {
  const std::string path = "table.json";
  const RankTable table = parse_rank_table(path, input);
  int ranks = 0;
  for (int server = 0; server < static_cast<int>(table.addresses.size()); ++server) {
    ranks += static_cast<int>(table.on_server(server).size());
  }
  require(ranks == table.size() && ranks > 0, "ranks that are on no server");
  int slots = 0;
  for (const HostSlots& host : hosts_of_rank_table(input_folder().write(path, input).string())) slots += host.slots;
  require(slots == ranks, "a rank of the table has no slot");
}

}  // namespace

std::vector<FuzzTarget> rank_table_targets() {
  return {{.name = "rank_table",
           .seeds =
               [] {
                 return std::vector<std::string>{kServerTable, kGroupTable, with_large_members(kServerTable)};
               },
           .read = read_table_of_ranks,
           .words = {"\"server_list\":", "\"group_list\":", "\"instance_list\":", "\"devices\":", "\"rank_id\":",
                     "\"status\":", "\"server_ip\":", deep_lists()},
           .max_bytes = 400'000}};
}

}  // namespace partita

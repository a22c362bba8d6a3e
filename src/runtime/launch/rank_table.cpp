#include "runtime/launch/rank_table.h"

#include <algorithm>
#include <map>

#include "base/bounded_json.h"
#include "base/error.h"
#include "base/plain_text.h"
#include "base/rank_limit.h"
#include "base/text_file.h"

namespace partita {
namespace {

using nlohmann::json;

constexpr TextFile kRankTable{.where = "rank table", .purpose = "a rank table", .max_bytes = int64_t{16} << 20};

class TableReader {
 public:
  TableReader(std::string path, const json& root) : path_(std::move(path)), root_(root) {}

  RankTable read() {
    if (!root_.is_object()) refuse("the table", "", root_.type_name(), "an object");
    if (root_.contains("status") && root_["status"] != "completed") {
      refuse("status", "", root_["status"].dump(), "\"completed\"");
    }
    if (root_.contains("group_list")) {
      read_groups();
    } else {
      read_servers();
    }
    return finished();
  }

 private:
  struct Entry {
    int server, device;
  };

  [[noreturn]] void refuse(const std::string& key, const std::string& where, const std::string& got,
                           const std::string& expected) const {
    throw InvalidFile("[rank table] {}: wrong {}{}, got {}, expected {}", path_, key, where, got, expected);
  }

  const json& member(const json& object, const char* key, const std::string& where) const {
    if (!object.is_object()) refuse(key, where, object.type_name(), "an object that has it");
    if (const auto found = object.find(key); found != object.end()) return *found;
    std::vector<std::string> keys;
    for (const auto& [name, value] : object.items()) keys.push_back(name);
    throw InvalidFile("[rank table] {}: no {}{}, got [{}], expected '{}'{}", path_, key, where, fmt::join(keys, ", "),
                      key, did_you_mean(key, keys));
  }

  const json& list(const json& object, const char* key, const std::string& where) const {
    const json& value = member(object, key, where);
    if (!value.is_array() || value.empty()) refuse(key, where, value.is_array() ? "none" : value.type_name(), "a list");
    return value;
  }

  std::string text(const json& object, const char* key, const std::string& where) const {
    const json& value = member(object, key, where);
    if (!value.is_string()) refuse(key, where, value.dump(), "a text");
    return value.get<std::string>();
  }

  /// Reads a number from 0 to kMaxJobRanks - 1. In published tables numbers are texts. Throws InvalidFile for another
  /// value and if there is none.
  int number(const json& object, const char* key, const std::string& where) const {
    const json& value = member(object, key, where);
    const std::string digits = value.is_string() ? value.get<std::string>() : value.dump();
    if (const std::optional<int> result = parse_number<int>(digits); result && *result >= 0 && *result < kMaxJobRanks) {
      return *result;
    }
    refuse(key, where, "'" + digits + "'", fmt::format("a number from 0 to {}", kMaxJobRanks - 1));
  }

  void add(int rank, Entry entry, const std::string& where) {
    if (!entries_.emplace(rank, entry).second) {
      refuse("rank_id", where, fmt::format("{} a second time", rank), "each rank once");
    }
  }

  /// Returns the index of a server. Adds the server if no instance named it before.
  int server_of(const std::string& name) {
    const auto [place, is_new] = servers_.emplace(name, static_cast<int>(addresses_.size()));
    if (is_new) addresses_.push_back(name);
    return place->second;
  }

  void read_servers() {
    int index = 0;
    for (const json& server : list(root_, "server_list", "")) {
      const std::string where = fmt::format(" of server {}", index);
      const std::string id = text(server, "server_id", where);
      const std::string ip = server.contains("server_ip") ? text(server, "server_ip", where) : "";
      addresses_.push_back(ip.empty() ? id : ip);
      int place = 0;
      for (const json& device : list(server, "device", where)) {
        const std::string at = fmt::format(" of device {}{}", place++, where);
        add(number(device, "rank_id", at), {index, number(device, "device_id", at)}, at);
      }
      ++index;
    }
    check_count("server_count", root_, index, "");
  }

  void read_groups() {
    int group_index = 0;
    for (const json& group : list(root_, "group_list", "")) {
      const std::string where = fmt::format(" of group {}", group_index++);
      int instances = 0;
      for (const json& instance : list(group, "instance_list", where)) {
        const std::string at = fmt::format(" of instance {}{}", instances++, where);
        const json& device = list(instance, "devices", at)[0];
        const int server = server_of(text(instance, "server_id", at));
        add(number(instance, "rank_id", at), {server, number(device, "device_id", at)}, at);
      }
      check_count("instance_count", group, instances, where);
    }
  }

  void check_count(const char* key, const json& object, int count, const std::string& where) const {
    if (!object.contains(key)) return;
    if (const int said = number(object, key, where); said != count) {
      refuse(key, where, fmt::format("{}", said), fmt::format("{}, as many as follow", count));
    }
  }

  RankTable finished() const {
    RankTable table{.addresses = addresses_};
    for (const auto& [rank, entry] : entries_) {
      if (rank != table.size()) refuse("rank_id", "", fmt::format("{} after {}", rank, table.size() - 1), "no gap");
      table.ranks.push_back({.server = entry.server, .device = entry.device});
    }
    return table;
  }

  const std::string path_;
  const json& root_;
  std::vector<std::string> addresses_;
  std::map<std::string, int> servers_;  // by name
  std::map<int, Entry> entries_;
};

}  // namespace

std::vector<int> RankTable::on_server(int server) const {
  std::vector<int> here;
  for (int rank = 0; rank < size(); ++rank) {
    if (ranks[rank].server == server) here.push_back(rank);
  }
  return here;
}

RankTable parse_rank_table(const std::string& path, const std::string& text) {
  json root;
  try {
    root = parse_bounded_json(text);
  } catch (const BadJson& error) {
    throw InvalidFile("[rank table] {}: not JSON, got {}, expected a table", path, error.what());
  }
  return TableReader(path, root).read();
}

RankTable read_rank_table(const std::string& path) { return parse_rank_table(path, read_text_file(path, kRankTable)); }

}  // namespace partita

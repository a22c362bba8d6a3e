#pragma once
// Reads tables of ranks (RANK_TABLE_FILE, MINDSPORE_HCCL_CONFIG_PATH) in both published forms: a list of servers with
// devices, and a list of groups with instances.

#include <string>
#include <vector>

namespace partita {

struct RankTable {
  struct Device {
    int server = 0;  // index in `addresses`
    int device = 0;
  };
  std::vector<std::string> addresses;  // per server
  std::vector<Device> ranks;           // by rank

  int size() const { return static_cast<int>(ranks.size()); }
  /// Returns the ranks on the server with this index in `addresses`, in ascending order; none for an unknown server.
  std::vector<int> on_server(int server) const;
};

/// Parses a table with the key "group_list" or, without it, "server_list". `path` is only named in errors. Throws
/// InvalidFile, with a message that begins with "[rank table] PATH:", if the text is not JSON, a key is missing or has
/// a wrong value, a rank is missing or given twice, or a count differs from what follows.
RankTable parse_rank_table(const std::string& path, const std::string& text);

/// Reads a table from a file. Throws MissingFile if it is no regular file or cannot be read; InvalidFile if it is
/// larger than 16 MiB or not a table.
RankTable read_rank_table(const std::string& path);

}  // namespace partita

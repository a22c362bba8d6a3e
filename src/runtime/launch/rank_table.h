#pragma once
// Tables of ranks (RANK_TABLE_FILE, MINDSPORE_HCCL_CONFIG_PATH), in both published forms: a list of servers with
// devices, and a list of groups with instances.

#include <string>
#include <vector>

namespace partita {

struct RankTable {
  struct Place {
    int server = 0;  // an index of `addresses`
    int device = 0;
  };
  std::vector<std::string> addresses;  // of the servers
  std::vector<Place> ranks;            // by rank

  int size() const { return static_cast<int>(ranks.size()); }
  /// Ranks on a server, in order.
  std::vector<int> on_server(int server) const;
};

/// Throws InvalidFile, which begins with "[rank table] PATH:", for a text that is no table, with the key at fault.
RankTable parse_rank_table(const std::string& path, const std::string& text);

/// Throws MissingFile, too. Files of more than 16 MiB are refused.
RankTable read_rank_table(const std::string& path);

}  // namespace partita

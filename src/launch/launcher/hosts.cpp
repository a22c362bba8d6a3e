#include "launch/launcher/hosts.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>

#include "base/error.h"
#include "base/rank_limit.h"
#include "launch/rank_table.h"

namespace partita {
namespace {

constexpr size_t kMostHostfile = size_t{1} << 20;

bool is_host_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name[0] != '-' &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == ':' || c == '[' || c == ']';
         });
}

std::optional<int> slot_number(std::string_view text) {
  int slots = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), slots);
  if (failure != std::errc{} || rest != text.data() + text.size() || slots < 1 || slots > kMostJobRanks) return {};
  return slots;
}

/// "node:4"; none when it is no such text. Colons of an IPv6 address stand in brackets.
std::optional<HostSlots> host_of(std::string_view text) {
  const size_t colon = text.rfind(':'), bracket = text.rfind(']');
  if (colon == std::string_view::npos || (bracket != std::string_view::npos && bracket > colon)) {
    return is_host_name(text) ? std::optional(HostSlots{std::string(text), 1}) : std::nullopt;
  }
  const auto slots = slot_number(text.substr(colon + 1));
  const std::string_view name = text.substr(0, colon);
  if (!slots || !is_host_name(name)) return std::nullopt;
  return HostSlots{std::string(name), *slots};
}

/// False when there are more slots than a job can have ranks.
bool add_host(std::vector<HostSlots>& hosts, int& slots, HostSlots host) {
  if (host.slots > kMostJobRanks - slots) return false;
  slots += host.slots;
  hosts.push_back(std::move(host));
  return true;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr std::string_view kSpaces = " \t\r";
  for (size_t begin = line.find_first_not_of(kSpaces); begin != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(kSpaces, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kSpaces, end);
  }
  return words;
}

}  // namespace

std::vector<HostSlots> parse_hosts(const std::string& text) {
  std::vector<HostSlots> hosts;
  int slots = 0;
  std::string_view rest(text);
  while (true) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    const auto host = host_of(entry);
    if (!host) {
      throw InvalidArgument(
          fmt::format("[--hosts] not a host, got '{}', expected HOST or HOST:RANKS, as in a:4,b:4", entry));
    }
    if (!add_host(hosts, slots, *host)) {
      throw InvalidArgument(fmt::format("[--hosts] too many ranks, got more than {} up to '{}', expected at most that",
                                        kMostJobRanks, entry));
    }
    if (entry.size() == rest.size()) return hosts;
    rest.remove_prefix(entry.size() + 1);
  }
}

std::vector<HostSlots> parse_hostfile(const std::string& path, const std::string& text) {
  std::vector<HostSlots> hosts;
  int all_slots = 0;
  std::string_view rest(text);
  for (int number = 1; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const auto words = words_of(line.substr(0, line.find('#')));
    if (words.empty()) continue;
    const auto refuse = [&](std::string_view got) {
      throw InvalidFile(
          fmt::format("[hostfile] {}:{}: not a host, got '{}', expected 'HOST', 'HOST:RANKS' or 'HOST "
                      "slots=RANKS'",
                      path, number, got));
    };
    auto host = host_of(words[0]);
    if (!host) refuse(words[0]);
    for (const std::string_view word : std::vector(words.begin() + 1, words.end())) {
      const bool is_slots = word.starts_with("slots=");
      const bool is_most = word.starts_with("max_slots=") || word.starts_with("max-slots=");
      const auto slots = slot_number(word.substr(word.find('=') + 1));
      if ((!is_slots && !is_most) || !slots) refuse(word);
      if (is_slots) host->slots = *slots;
    }
    if (!add_host(hosts, all_slots, *host)) {
      throw InvalidFile(fmt::format("[hostfile] {}:{}: too many ranks, got more than {}, expected at most that", path,
                                    number, kMostJobRanks));
    }
  }
  if (hosts.empty()) throw InvalidFile(fmt::format("[hostfile] {}: no host, expected one on a line", path));
  return hosts;
}

std::vector<HostSlots> read_hostfile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw MissingFile(fmt::format("[hostfile] cannot open {}: {}", path, std::strerror(errno)));
  std::string text(kMostHostfile + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kMostHostfile) {
    throw InvalidFile(fmt::format("[hostfile] {}: too large, expected at most {} bytes", path, kMostHostfile));
  }
  return parse_hostfile(path, text);
}

std::vector<HostSlots> hosts_of_rank_table(const std::string& path) {
  const RankTable table = read_rank_table(path);
  std::vector<HostSlots> hosts;
  int last = -1;
  std::vector<bool> seen(table.addresses.size());
  for (int rank = 0; rank < table.size(); ++rank) {
    const int server = table.ranks[rank].server;
    if (server == last) {
      ++hosts.back().slots;
      continue;
    }
    if (seen[server]) {
      throw InvalidFile(
          fmt::format("[rank table] {}: ranks of server {} are apart, got rank {} behind those of "
                      "another, expected them one behind the other",
                      path, table.addresses[server], rank));
    }
    seen[server] = true;
    last = server;
    // Ranks of one server are on this host, whatever the table calls it.
    const std::string name = table.addresses.size() == 1 ? "localhost" : table.addresses[server];
    if (!is_host_name(name)) {
      throw InvalidFile(fmt::format("[rank table] {}: no address of server {}, got '{}', expected that of a host", path,
                                    server, name));
    }
    hosts.push_back({name, 1});
  }
  return hosts;
}

std::vector<HostSlots> taken_slots(std::vector<HostSlots> hosts, int ranks) {
  const int all = slots_of(hosts);
  if (ranks > all) {
    throw InvalidArgument(
        fmt::format("[-n] more ranks than slots, got {}, expected at most {}, or more hosts", ranks, all));
  }
  for (int rest = ranks == 0 ? all : ranks, i = 0; i < static_cast<int>(hosts.size()); ++i) {
    hosts[i].slots = std::min(hosts[i].slots, rest);
    rest -= hosts[i].slots;
  }
  std::erase_if(hosts, [](const HostSlots& host) { return host.slots == 0; });
  return hosts;
}

int slots_of(const std::vector<HostSlots>& hosts) {
  int slots = 0;
  for (const HostSlots& host : hosts) slots += host.slots;
  return slots;
}

}  // namespace partita

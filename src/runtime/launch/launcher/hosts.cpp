#include "runtime/launch/launcher/hosts.h"

#include <arpa/inet.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/plain_text.h"
#include "base/rank_limit.h"
#include "base/text_file.h"
#include "runtime/launch/rank_table.h"

namespace partita {
namespace {

constexpr TextFile kHostfile{.where = "hostfile", .purpose = "a list of hosts", .max_bytes = int64_t{1} << 20};

bool consists_of(std::string_view text, std::string_view others) {
  return std::ranges::all_of(text,
                             [&](char c) { return is_letter_or_digit(c) || others.find(c) != std::string_view::npos; });
}

/// Whether a text is an IPv6 address: "2001:db8::12", or "fe80::1%eth0" with a link of this host.
bool is_ipv6_address(std::string_view text) {
  const size_t percent = text.find('%');
  const std::string number(text.substr(0, percent));
  const std::string_view link = percent == std::string_view::npos ? "x" : text.substr(percent + 1);
  in6_addr address{};
  return ::inet_pton(AF_INET6, number.c_str(), &address) == 1 && !link.empty() && link.size() <= 64 &&
         consists_of(link, ".-_");
}

bool is_host_name(std::string_view name) {
  if (name.empty() || name.size() > 255 || name[0] == '-') return false;
  return name.find(':') != std::string_view::npos ? is_ipv6_address(name) : consists_of(name, ".-_");
}

bool is_user(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name[0] != '-' && consists_of(name, ".-_+");
}

std::optional<int> slot_number(std::string_view text) {
  const std::optional<int> slots = parse_number<int>(text);
  return slots && *slots >= 1 && *slots <= kMaxJobRanks ? slots : std::nullopt;
}

/// Parses a host with an optional user and an optional number of slots: "node", "me@node:4", "::1" or "[::1]:4".
/// Without a number it has 1 slot. The name of the result keeps the user, but not the brackets. None for other texts
/// and for slots outside 1 to kMaxJobRanks.
std::optional<HostSlots> host_of(std::string_view text) {
  const size_t at = text.find('@');
  const std::string_view user = at == std::string_view::npos ? "" : text.substr(0, at);
  if (at != std::string_view::npos && !is_user(user)) return std::nullopt;
  std::string_view name = text.substr(at == std::string_view::npos ? 0 : at + 1), number;
  bool has_number = false;
  if (name.starts_with('[')) {
    const size_t end = name.find(']');
    if (end == std::string_view::npos || !is_ipv6_address(name.substr(1, end - 1))) return std::nullopt;
    number = name.substr(end + 1);
    has_number = !number.empty();
    if (has_number && !number.starts_with(':')) return std::nullopt;
    if (has_number) number.remove_prefix(1);
    name = name.substr(1, end - 1);
  } else if (const size_t colon = name.find(':'); colon != std::string_view::npos && colon == name.rfind(':')) {
    number = name.substr(colon + 1);
    has_number = true;
    name = name.substr(0, colon);
  }
  const std::optional<int> slots = has_number ? slot_number(number) : 1;
  if (!slots || !is_host_name(name)) return std::nullopt;
  return HostSlots{fmt::format("{}{}{}", user, user.empty() ? "" : "@", name), *slots};
}

/// Adds a host to `hosts`, and its slots to `slots`. Returns false, and adds nothing, if there would be more slots than
/// a job can have ranks.
bool add_host(std::vector<HostSlots>& hosts, int& slots, HostSlots host) {
  if (host.slots > kMaxJobRanks - slots) return false;
  slots += host.slots;
  hosts.push_back(std::move(host));
  return true;
}

/// Returns the words of a line. Words around "=" are joined: "slots = 2" is "slots=2".
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  constexpr std::string_view kSpaces = " \t\r";
  for (size_t begin = line.find_first_not_of(kSpaces); begin != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(kSpaces, begin), line.size());
    const std::string_view word = line.substr(begin, end - begin);
    const bool goes_on = !words.empty() && (word.starts_with('=') || words.back().ends_with('='));
    if (goes_on) {
      words.back() += word;
    } else {
      words.emplace_back(word);
    }
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
          "[--hosts] not a host, got '{}', expected HOST or HOST:RANKS, as in a:4,b:4 or [2001:db8::12]:4", entry);
    }
    if (!add_host(hosts, slots, *host)) {
      throw InvalidArgument("[--hosts] too many ranks, got more than {} up to '{}', expected at most that",
                            kMaxJobRanks, entry);
    }
    if (entry.size() == rest.size()) return hosts;
    rest.remove_prefix(entry.size() + 1);
  }
}

std::vector<HostSlots> parse_hostfile(const std::string& path, const std::string& text) {
  std::vector<HostSlots> hosts;
  int all_slots = 0;
  std::string_view rest(text);
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  for (int number = 1; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const auto words = words_of(line.substr(0, line.find('#')));
    if (words.empty()) continue;
    const auto refuse = [&](std::string_view got) {
      throw InvalidFile("[hostfile] {}:{}: not a host, got '{}', expected 'HOST', 'HOST:RANKS' or 'HOST slots=RANKS'",
                        path, number, got);
    };
    auto host = host_of(words[0]);
    if (!host) refuse(words[0]);
    for (size_t i = 1; i < words.size(); ++i) {
      const std::string_view word = words[i];
      const bool is_slots = word.starts_with("slots=");
      const bool is_most = word.starts_with("max_slots=") || word.starts_with("max-slots=");
      const auto slots = slot_number(word.substr(word.find('=') + 1));
      if ((!is_slots && !is_most) || !slots) refuse(word);
      if (is_slots) host->slots = *slots;
    }
    if (!add_host(hosts, all_slots, *host)) {
      throw InvalidFile("[hostfile] {}:{}: too many ranks, got more than {}, expected at most that", path, number,
                        kMaxJobRanks);
    }
  }
  if (hosts.empty()) throw InvalidFile("[hostfile] {}: no host, expected one on a line", path);
  return hosts;
}

std::vector<HostSlots> read_hostfile(const std::string& path) {
  return parse_hostfile(path, read_text_file(path, kHostfile));
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
          "[rank table] {}: ranks of server {} are apart, got rank {} after those of another, expected them one after "
          "the other",
          path, table.addresses[server], rank);
    }
    seen[server] = true;
    last = server;
    // If there is only one server, it is this host, whatever the table calls it.
    const std::string name = table.addresses.size() == 1 ? "localhost" : table.addresses[server];
    const auto host = host_of(name);
    if (!host || host->slots != 1) {
      throw InvalidFile("[rank table] {}: no address of server {}, got '{}', expected that of a host", path, server,
                        name);
    }
    hosts.push_back(*host);
  }
  return hosts;
}

std::vector<HostSlots> taken_slots(std::vector<HostSlots> hosts, int ranks) {
  const int all = slots_of(hosts);
  if (ranks > all) {
    throw InvalidArgument("[-n] more ranks than slots, got {}, expected at most {}, or more hosts", ranks, all);
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

#include "runtime/launch/diagnose.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.h"
#include "base/folder_entries.h"
#include "base/listed.h"

namespace partita {
namespace {

/// The part of a call that is equal on all ranks of a group: "all_reduce f32[100] sum". Counts of gathers and scatters
/// are totals.
std::string shared_part(const FlightEntry& entry) {
  const auto kind = static_cast<Collective>(entry.kind);
  std::string text(name_of(kind));
  if (kind == Collective::barrier || kind == Collective::split) return text;
  text += fmt::format(" {}", name_of(static_cast<DType>(entry.dtype)));
  if (kind != Collective::all_to_all) text += fmt::format("[{}]", entry.count);
  if (entry.reduce != 0) text += fmt::format(" {}", name_of(static_cast<Reduce>(entry.reduce)));
  return entry.root < 0 ? text : text + fmt::format(" from member {}", entry.root);
}

/// Calls of one rank in one group, by number.
using Calls = std::map<uint64_t, const FlightEntry*>;
using GroupCalls = std::map<int, Calls>;  // by rank

std::map<uint64_t, GroupCalls> calls_by_group(const std::vector<FlightLog>& logs) {
  std::map<uint64_t, GroupCalls> groups;
  for (const FlightLog& log : logs) {
    for (const FlightEntry& entry : log.entries) {
      if (entry.call > 0) groups[entry.group][log.rank][entry.call] = &entry;
    }
  }
  return groups;
}

std::optional<CallDifference> difference_in(uint64_t group, const GroupCalls& ranks) {
  const auto& [first_rank, first] = *ranks.begin();
  for (const auto& [number, entry] : first) {
    for (const auto& [rank, calls] : ranks) {
      const auto other = calls.find(number);
      if (other == calls.end() || shared_part(*other->second) == shared_part(*entry)) continue;
      return CallDifference{.group = group,
                            .call = number,
                            .rank = first_rank,
                            .other = rank,
                            .made = shared_part(*other->second),
                            .expected = shared_part(*entry)};
    }
  }
  return std::nullopt;
}

GroupProgress progress_in(uint64_t group, const GroupCalls& ranks) {
  GroupProgress progress{.group = group, .least = ~uint64_t{0}};
  const FlightEntry* furthest = nullptr;
  for (const auto& [rank, calls] : ranks) {
    progress.ranks.push_back(rank);
    const auto& [number, entry] = *calls.rbegin();
    progress.least = std::min(progress.least, number);
    if (furthest == nullptr || number > progress.furthest) {
      progress.furthest = number;
      furthest = entry;
    }
  }
  for (const auto& [rank, calls] : ranks) {
    const auto& [number, entry] = *calls.rbegin();
    if (number < progress.furthest) {
      progress.behind.push_back(rank);
    } else if (entry->end == 0) {
      progress.waiting.push_back(rank);
    }
  }
  progress.call = describe(*furthest);
  return progress;
}

std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", listed(ranks, ", "));
}

}  // namespace

std::vector<FlightLog> read_flight_records(const std::string& folder) {
  std::vector<FlightLog> logs;
  std::error_code failure;
  for (const std::filesystem::path& entry : entries_of(folder)) {
    const std::string path = (entry / "flight_record").string();
    if (!entry.filename().string().starts_with("rank_") || !std::filesystem::exists(path, failure)) continue;
    logs.push_back(read_flight_record(path));
  }
  if (logs.empty()) {
    throw MissingFile(
        "[diagnose] no flight records in {}, expected rank_N/flight_record of a launch or of --flight-record", folder);
  }
  std::ranges::sort(logs, [](const FlightLog& a, const FlightLog& b) { return a.rank < b.rank; });
  const auto twice =
      std::ranges::adjacent_find(logs, [](const FlightLog& a, const FlightLog& b) { return a.rank == b.rank; });
  if (twice != logs.end()) {
    throw InvalidFile("[diagnose] {}: two records of one rank, got rank {} twice, expected one of each", folder,
                      twice->rank);
  }
  return logs;
}

Diagnosis diagnose(std::vector<FlightLog> logs) {
  Diagnosis diagnosis{.logs = std::move(logs)};
  std::set<int> known;
  for (const FlightLog& log : diagnosis.logs) {
    known.insert(log.rank);
    diagnosis.size = std::max(diagnosis.size, log.size);
  }
  for (int rank = 0; rank < diagnosis.size; ++rank) {
    if (!known.contains(rank)) diagnosis.missing.push_back(rank);
  }
  std::set<int> behind, waiting, lost;
  for (const auto& [group, ranks] : calls_by_group(diagnosis.logs)) {
    const auto difference = difference_in(group, ranks);
    if (difference && (!diagnosis.difference || difference->call < diagnosis.difference->call)) {
      diagnosis.difference = difference;
    }
    GroupProgress progress = progress_in(group, ranks);
    if (progress.waiting.empty()) continue;
    behind.insert(progress.behind.begin(), progress.behind.end());
    waiting.insert(progress.waiting.begin(), progress.waiting.end());
    diagnosis.groups.push_back(std::move(progress));
  }
  for (const FlightLog& log : diagnosis.logs) {
    if (log.lost >= 0) lost.insert(log.lost);
  }
  // A late rank of one group may be waiting in another.
  for (const int rank : behind) {
    if (!waiting.contains(rank)) lost.insert(rank);
  }
  diagnosis.blamed.assign(lost.begin(), lost.end());
  return diagnosis;
}

std::string print_diagnosis(const Diagnosis& diagnosis) {
  std::string text = fmt::format("{} of {} ranks have a record\n", diagnosis.logs.size(), diagnosis.size);
  if (!diagnosis.missing.empty()) text += fmt::format("no record of {}\n", ranks_text(diagnosis.missing));
  for (const FlightLog& log : diagnosis.logs) {
    const std::string last = log.entries.empty() ? "no call" : describe(log.entries.back());
    const bool runs = !log.entries.empty() && log.entries.back().end == 0;
    text += fmt::format("rank {} on {}: {} calls, step {}; {}: {}\n", log.rank, log.host, log.calls, log.step,
                        runs ? "in" : "after", last);
    if (!log.failure.empty()) text += fmt::format("  it ended with {}: {}\n", static_cast<int>(log.code), log.failure);
  }
  for (const GroupProgress& group : diagnosis.groups) {
    text += fmt::format("waiting in {}: {}", group.call, ranks_text(group.waiting));
    if (!group.behind.empty()) text += fmt::format("; not there: {}", ranks_text(group.behind));
    text += "\n";
  }
  if (const auto& one = diagnosis.difference) {
    text += fmt::format("programs differ: call {} of a group is {} on rank {}, but {} on rank {}\n", one->call,
                        one->expected, one->rank, one->made, one->other);
  } else {
    text += "programs agree in the calls that were recorded\n";
  }
  text +=
      diagnosis.blamed.empty() ? "no rank fell behind\n" : fmt::format("behind: {}\n", ranks_text(diagnosis.blamed));
  return text;
}

}  // namespace partita

#pragma once
// The records of all ranks of a job side by side: who was behind, in what, and whether programs differed.

#include <optional>
#include <string>
#include <vector>

#include "runtime/comm/flight_record.h"

namespace partita {

/// How far the ranks of a group had come in its calls when the records end.
struct GroupProgress {
  uint64_t group = 0;
  std::vector<int> ranks;    // of which there is a record
  uint64_t furthest = 0;     // the last call that one of them began
  uint64_t least = 0;        // the last call that all of them began
  std::vector<int> behind;   // ranks that had not begun `furthest`
  std::vector<int> waiting;  // ranks in `furthest`, which had not ended
  std::string call;          // `furthest`, in words
};

/// The first call of a group that its ranks made differently.
struct CallDifference {
  uint64_t group = 0, call = 0;
  int rank = 0, other = 0;
  std::string made, expected;  // by `other`, by `rank`
};

struct Diagnosis {
  std::vector<FlightLog> logs;        // by rank
  int size = 1;                       // of the world
  std::vector<int> missing;           // ranks without a record
  std::vector<GroupProgress> groups;  // that some rank waits in
  std::optional<CallDifference> difference;
  std::vector<int> blamed;  // ranks behind all others that wait, or that others missed
};

/// DIR/rank_N/flight_record of all ranks. Throws MissingFile where there is none, InvalidFile for a damaged one.
std::vector<FlightLog> read_flight_records(const std::string& folder);
Diagnosis diagnose(std::vector<FlightLog> logs);
std::string print_diagnosis(const Diagnosis& diagnosis);

}  // namespace partita

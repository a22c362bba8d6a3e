#pragma once
// Compares the records of all ranks of a job: who was behind, in which call, and whether the programs differed.

#include <optional>
#include <string>
#include <vector>

#include "runtime/comm/flight_record.h"

namespace partita {

/// How far the ranks of a group had come in its calls when the records end.
struct GroupProgress {
  uint64_t group = 0;
  std::vector<int> ranks;    // ranks with a record
  uint64_t furthest = 0;     // the last call that any of them began
  uint64_t least = 0;        // the last call that all of them began
  std::vector<int> behind;   // ranks that had not begun `furthest`
  std::vector<int> waiting;  // ranks still in call `furthest`
  std::string call;          // description of call `furthest`
};

/// The first call of a group that ranks made differently.
struct CallDifference {
  uint64_t group = 0, call = 0;
  int rank = 0, other = 0;
  std::string made, expected;  // made: the call of `other`; expected: the call of `rank`
};

struct Diagnosis {
  std::vector<FlightLog> logs;        // by rank
  int size = 1;                       // size of the world
  std::vector<int> missing;           // ranks without a record
  std::vector<GroupProgress> groups;  // groups in which some rank waits
  std::optional<CallDifference> difference;
  std::vector<int> blamed;  // late ranks that do not wait themselves, and ranks that others lost
};

/// Reads FOLDER/rank_N/flight_record of all ranks that have one, and returns them in the order of the ranks. Throws
/// MissingFile if there is none or one cannot be opened, InvalidFile for a damaged one or two of one rank.
std::vector<FlightLog> read_flight_records(const std::string& folder);
/// Finds the ranks without a record, the groups in which a rank waits, the ranks that others lost or waited for
/// (without those that wait themselves), and the first collective that ranks of a group made differently, that with the
/// lowest number of several groups. `logs` are in the order of the ranks; only calls that they still have are compared.
Diagnosis diagnose(std::vector<FlightLog> logs);
/// Formats a diagnosis as lines of text.
std::string print_diagnosis(const Diagnosis& diagnosis);

}  // namespace partita

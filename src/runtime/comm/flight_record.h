#pragma once
// What a rank did last, in a file that is there however the rank ends: the pages of a mapped file outlive the process.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/comm/call.h"

namespace partita {

/// One call of a rank.
struct FlightEntry {
  static constexpr size_t kMaxRanks = 16;  // that are written out
  uint64_t number = 0;                     // of all calls of the rank, from 1; 0: none was here yet
  uint64_t group = 0;                      // the same on all its ranks, and no other group's
  uint64_t call = 0;                       // of the group, from 1; messages are counted by themselves
  int64_t begin = 0, end = 0;              // nanoseconds since 1970; end 0: it runs, or failed
  int64_t count = 0;                       // elements
  int64_t step = 0;
  int32_t peer = -1;  // of a message, a rank of the world
  int32_t root = -1;
  uint8_t kind = 0, dtype = 0, reduce = 0, failed = 0;
  uint32_t size = 0;  // of the group
  int32_t ranks[kMaxRanks] = {};
};

/// A whole record, as it was read.
struct FlightLog {
  int rank = 0, size = 1;
  int64_t process = 0;
  std::string host;
  uint64_t calls = 0;  // in all; the last FlightRecord::kEntries of them are in `entries`, in order
  int64_t step = 0;
  ExitCode code = ExitCode::ok;  // why the rank ended, when it said so
  int lost = -1;                 // the rank that it missed
  std::string failure;
  std::vector<FlightEntry> entries;
};

/// A ring of the last calls. Writing costs two clock readings and no system call; several threads may write.
class FlightRecord {
 public:
  static constexpr size_t kEntries = 1000;

  /// Makes, or replaces, FILE. Throws RuntimeFailure(cannot_write).
  static std::shared_ptr<FlightRecord> create(const std::string& path, int rank, int size, const std::string& host);
  ~FlightRecord();
  FlightRecord(const FlightRecord&) = delete;
  FlightRecord& operator=(const FlightRecord&) = delete;

  /// The call begins; the number goes to `end`.
  uint64_t begin(const Call& call, uint64_t group, std::span<const int> world_ranks, int peer);
  void end(uint64_t number, bool failed);
  /// Why the rank ends; the first one stays.
  void fail(ExitCode code, int lost, const std::string& text) noexcept;

 private:
  struct File;
  explicit FlightRecord(File* file) : file_(file) {}
  FlightEntry& entry(uint64_t number) const;
  friend FlightLog read_flight_record(const std::string& path);

  File* file_;
};

/// Of ranks, by rank; empty where none are kept.
using FlightRecords = std::vector<std::shared_ptr<FlightRecord>>;

/// Throws MissingFile and InvalidFile.
FlightLog read_flight_record(const std::string& path);

/// "all_reduce f32[100] sum, call 12 of group (0,1,2), step 7"
std::string describe(const FlightEntry& entry);

}  // namespace partita

#pragma once
// Records the last calls of a rank in a file that survives however the rank ends: the pages of a mapped file outlive
// the process.

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

/// A recorded call of a rank.
struct FlightEntry {
  static constexpr size_t kMaxRanks = 16;  // ranks that are stored
  uint64_t number = 0;                     // number among all calls of the rank, from 1; 0: empty entry
  uint64_t group = 0;                      // id of the group: the same on all its ranks, unique in the world
  uint64_t call = 0;                       // number among the group's collectives, from 1; 0: a point-to-point message
  int64_t begin = 0, end = 0;              // in nanoseconds since 1970; end 0: it is running or failed
  int64_t count = 0;                       // in elements
  int64_t step = 0;
  int32_t peer = -1;  // rank in the world; messages only
  int32_t root = -1;
  uint8_t kind = 0, dtype = 0, reduce = 0, failed = 0;
  uint32_t size = 0;  // number of ranks in the group
  int32_t ranks[kMaxRanks] = {};
};

/// The content of a record file.
struct FlightLog {
  int rank = 0, size = 1;
  int64_t process = 0;
  std::string host;
  uint64_t calls = 0;  // total number; the last FlightRecord::kEntries of them are in `entries`, in order
  int64_t step = 0;
  ExitCode code = ExitCode::ok;  // why the rank ended, if it reported that
  int lost = -1;                 // the rank that was lost, if that is why; else -1
  std::string failure;
  std::vector<FlightEntry> entries;
};

/// A ring buffer of the last calls. Recording one costs two clock readings and no system call. Several threads may
/// record.
class FlightRecord {
 public:
  static constexpr size_t kEntries = 1000;

  /// Creates the file `path`, or replaces it, with this rank, number of ranks and name of the host (cut to 63 bytes).
  /// Creates missing folders. Throws RuntimeFailure(cannot_write) if that fails or the disk has no room.
  static std::shared_ptr<FlightRecord> create(const std::string& path, int rank, int size, const std::string& host);
  ~FlightRecord();
  FlightRecord(const FlightRecord&) = delete;
  FlightRecord& operator=(const FlightRecord&) = delete;

  /// Records the beginning of a call in the group with the id `group`. `peer` is the world rank of the other end of a
  /// message, -1 for a collective. Returns the number to pass to `end`.
  uint64_t begin(const Call& call, uint64_t group, std::span<const int> world_ranks, int peer);
  /// Records the end of the call that `begin` numbered `number`: its time, or, if `failed`, only that it failed. Does
  /// nothing if later calls have overwritten its entry.
  void end(uint64_t number, bool failed);
  /// Records why the rank ends. `lost` is the rank that was lost, or -1. Only the first reason is kept, cut to 1023
  /// bytes.
  void fail(ExitCode code, int lost, const std::string& text) noexcept;

 private:
  struct File;
  explicit FlightRecord(File* file) : file_(file) {}
  FlightEntry& entry(uint64_t number) const;
  friend FlightLog read_flight_record(const std::string& path);

  File* file_;
};

/// Records by rank; empty if none are kept.
using FlightRecords = std::vector<std::shared_ptr<FlightRecord>>;

/// Reads a record file. Throws MissingFile if it is no regular file or cannot be read, InvalidFile if it is not
/// a record or is damaged.
FlightLog read_flight_record(const std::string& path);

/// Describes an entry: "all_reduce f32[100] sum, call 12 of group (0,1,2), step 7", "broadcast f32[8] from member 1,
/// call 3 of group (0,1)", or "send f32[1] to rank 2 of group (0,2)". The step is left out if it is 0, and the group's
/// ranks after the first 16.
std::string describe(const FlightEntry& entry);

}  // namespace partita

// Flight records, as `partita diagnose` reads those of two ranks.

#include "runtime/comm/flight_record.h"

#include "fuzz/files.h"
#include "fuzz/target.h"
#include "runtime/launch/diagnose.h"

namespace partita {
namespace {

std::string path_of_rank(int rank) { return fmt::format("logs/rank_{}/flight_record", rank); }

/// The record of a rank that has made some calls, and waits in the last one.
std::string record_of(int rank, bool fails) {
  input_folder().write(path_of_rank(rank), "");
  const std::string path = (input_folder().path() / path_of_rank(rank)).string();
  const auto record = FlightRecord::create(path, rank, 2, "host");
  const std::vector<int> both{0, 1};
  for (uint64_t call = 1; call <= static_cast<uint64_t>(rank == 0 ? 3 : 2); ++call) {
    const uint64_t number = record->begin({.kind = Collective::all_reduce,
                                           .dtype = DType::f32,
                                           .reduce = Reduce::sum,
                                           .count = 100,
                                           .number = call,
                                           .step = 7},
                                          1, both, -1);
    if (call < 3) record->end(number, false);
  }
  if (fails) record->fail(ExitCode::peer_lost, 1, "[communicator] a rank was lost");
  return bytes_of_file(path);
}

size_t record_bytes() {
  static const size_t bytes = record_of(0, false).size();
  return bytes;
}

std::string without_zeros(std::string record) {
  record.resize(record.find_last_not_of('\0') + 1);
  return record;
}

/// Zeros at the end of a record are left out, so that inputs are short.
void read_records(const std::string& input) {
  const std::vector<std::string> parts = split_parts(input, 2);
  for (int rank = 0; rank < 2; ++rank) {
    std::string record = parts[rank];
    if (record.size() < record_bytes()) record.resize(record_bytes());
    input_folder().write(path_of_rank(rank), record);
  }
  const Diagnosis diagnosis = diagnose(read_flight_records((input_folder().path() / "logs").string()));
  require(diagnosis.logs.size() == 2, "a record is missing");
  require(print_diagnosis(diagnosis).size() < 100'000, "a diagnosis that nobody reads");
}

void read_record(const std::string& input) {
  const FlightLog log = read_flight_record(input_folder().write("flight_record", input).string());
  require(log.rank >= 0 && log.rank < log.size, "a rank that is not of its world");
  for (const FlightEntry& entry : log.entries) describe(entry);
}

}  // namespace

std::vector<FuzzTarget> flight_record_targets() {
  return {{.name = "flight_records",
           .seeds =
               [] {
                 return std::vector{joined({without_zeros(record_of(0, true)), without_zeros(record_of(1, false))})};
               },
           .read = read_records},
          {.name = "flight_record", .seeds = [] { return std::vector{record_of(0, true)}; }, .read = read_record}};
}

}  // namespace partita

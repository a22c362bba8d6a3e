#include "runtime/launch/diagnose.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/error.h"
#include "runtime/comm/run_ranks.h"

namespace partita {
namespace {

/// A folder that is gone at the end.
struct Folder {
  std::string path = (std::filesystem::temp_directory_path() / fmt::format("records-{}", ::getpid())).string();
  ~Folder() { std::filesystem::remove_all(path); }
  std::string record(int rank) const { return fmt::format("{}/rank_{}/flight_record", path, rank); }
};

/// One rank makes `calls` all-reduces of a group, and is in the last when `ends` is false.
void write_record(const Folder& folder, int rank, int size, int calls, bool ends, int64_t last_count = 10) {
  const auto record = FlightRecord::create(folder.record(rank), rank, size, "h");
  std::vector<int> ranks(size);
  for (int r = 0; r < size; ++r) ranks[r] = r;
  for (int i = 1; i <= calls; ++i) {
    const Call call{.kind = Collective::all_reduce,
                    .dtype = DType::f32,
                    .reduce = Reduce::sum,
                    .count = i == calls ? last_count : 10,
                    .number = static_cast<uint64_t>(i),
                    .step = i};
    const uint64_t number = record->begin(call, 1, ranks, -1);
    if (i < calls || ends) record->end(number, false);
  }
}

TEST(Diagnose, SaysWhoIsBehind) {
  const Folder folder;
  write_record(folder, 0, 3, 1500, false);
  write_record(folder, 1, 3, 1499, true);
  write_record(folder, 2, 3, 1500, false);
  const Diagnosis diagnosis = diagnose(read_flight_records(folder.path));
  EXPECT_EQ(diagnosis.blamed, std::vector<int>{1});
  EXPECT_FALSE(diagnosis.difference);
  ASSERT_EQ(diagnosis.groups.size(), 1u);
  EXPECT_EQ(diagnosis.groups[0].waiting, (std::vector<int>{0, 2}));
  EXPECT_EQ(diagnosis.logs[0].entries.size(), FlightRecord::kEntries);
  EXPECT_EQ(diagnosis.logs[0].entries.front().number, 501u);
  const std::string text = print_diagnosis(diagnosis);
  EXPECT_NE(
      text.find("rank 0 on h: 1500 calls, step 1500; in: all_reduce f32[10] sum, call 1500 of group (0,1,2), step "
                "1500\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("behind: rank 1\n"), std::string::npos);
}

TEST(Diagnose, SaysWherePrograms) {
  const Folder folder;
  write_record(folder, 0, 4, 5, false, 10);
  write_record(folder, 2, 4, 5, false, 12);
  const Diagnosis diagnosis = diagnose(read_flight_records(folder.path));
  ASSERT_TRUE(diagnosis.difference);
  EXPECT_EQ(diagnosis.missing, (std::vector<int>{1, 3}));
  EXPECT_NE(
      print_diagnosis(diagnosis).find("programs differ: call 5 of a group is all_reduce f32[10] sum on rank 0, but "
                                      "all_reduce f32[12] sum on rank 2\n"),
      std::string::npos);
}

TEST(Diagnose, ARecordOutlivesItsProcess) {
  const Folder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    write_record(folder, 0, 1, 7, false);
    const auto record = FlightRecord::create(folder.record(0), 0, 3, "h");
    const uint64_t number = record->begin({.kind = Collective::barrier, .number = 1, .step = 3}, 1, std::vector{0}, -1);
    record->fail(ExitCode::peer_stalled, 2, "silent");
    ::raise(SIGKILL);
    record->end(number, false);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  const FlightLog log = read_flight_record(folder.record(0));
  EXPECT_EQ(log.calls, 1u);
  EXPECT_EQ(log.lost, 2);
  EXPECT_EQ(log.failure, "silent");
  EXPECT_EQ(describe(log.entries.at(0)), "barrier, call 1 of group (0), step 3");
}

/// Writes a number of 32 bits into a file.
void put_number(const std::string& path, int64_t offset, int32_t number) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(offset).write(reinterpret_cast<const char*>(&number), sizeof number);
}

TEST(Diagnose, RecordsOfWorldsThatThereAreNotAreRefused) {
  const Folder folder;
  write_record(folder, 0, 2, 3, true);
  write_record(folder, 1, 2, 3, true);
  const auto refusal = [&]() -> std::string {
    try {
      print_diagnosis(diagnose(read_flight_records(folder.path)));
    } catch (const InvalidFile& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(refusal(), "none");
  constexpr int64_t kRank = 8, kSize = 12;  // offsets, after the first eight bytes
  put_number(folder.record(1), kRank, 0);
  EXPECT_EQ(refusal(),
            fmt::format("[diagnose] {}: two records of one rank, got rank 0 twice, expected one of each", folder.path));
  put_number(folder.record(1), kRank, 1);
  put_number(folder.record(1), kSize, 2'147'483'647);
  EXPECT_EQ(refusal(), fmt::format("[diagnose] {}: not a flight record, got rank 1 of 2147483647, expected a rank of a "
                                   "world of 1 to 65536",
                                   folder.record(1)));
}

TEST(Diagnose, RanksAsThreads) {
  const Folder folder;
  FlightRecords records;
  for (int rank = 0; rank < 3; ++rank) records.push_back(FlightRecord::create(folder.record(rank), rank, 3, "h"));
  const auto fn = [](Communicator& world) {
    double sum = 1;
    world.begin_step(7);
    world.all_reduce(&sum, 1, DType::f64, Reduce::sum);
    if (world.rank() == 1) throw InvalidArgument("[test] wrong");
    const auto part = world.split(std::vector<int>{0, 2});
    world.barrier();
  };
  EXPECT_THROW(run_ranks(3, fn, records), InvalidArgument);
  const Diagnosis diagnosis = diagnose(read_flight_records(folder.path));
  EXPECT_EQ(diagnosis.size, 3);
  EXPECT_EQ(diagnosis.blamed, std::vector<int>{1});
  ASSERT_EQ(diagnosis.logs.size(), 3u);
  EXPECT_EQ(diagnosis.logs[1].failure, "rank 1: [test] wrong");
  EXPECT_EQ(diagnosis.logs[1].step, 7);
  EXPECT_EQ(diagnosis.logs[1].calls, 1u);
  for (const int other : {0, 2}) {
    EXPECT_EQ(diagnosis.logs[other].code, ExitCode::usage);
    EXPECT_NE(diagnosis.logs[other].failure.find("rank 1: [test] wrong"), std::string::npos);
  }
}

TEST(Diagnose, ReasonsThatThereAreNotAreReadAsOurs) {
  const Folder folder;
  FlightRecord::create(folder.record(0), 0, 2, "h")->fail(static_cast<ExitCode>(1000), 7, "odd");
  const FlightLog log = read_flight_record(folder.record(0));
  EXPECT_EQ(log.code, ExitCode::internal);
  EXPECT_EQ(log.lost, -1);
  EXPECT_EQ(log.failure, "odd");
}

TEST(Diagnose, DamagedRecordsAreRefusedOrRead) {
  const Folder folder;
  EXPECT_THROW(read_flight_records(folder.path), MissingFile);
  write_record(folder, 0, 2, 30, true);
  std::ifstream file(folder.record(0), std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    std::string text = whole;
    if (i % 5 == 0) text.resize(random() % text.size());
    for (int k = 0; k < 20 && !text.empty(); ++k)
      text[random() % std::min<size_t>(text.size(), 4096)] = static_cast<char>(random());
    std::ofstream(folder.record(0), std::ios::binary | std::ios::trunc) << text;
    try {
      print_diagnosis(diagnose(read_flight_records(folder.path)));
    } catch (const InvalidFile& error) {
      EXPECT_NE(std::string(error.what()).find("not a flight record"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace partita

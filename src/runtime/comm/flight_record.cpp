#include "runtime/comm/flight_record.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "base/failure_code.h"
#include "base/rank_limit.h"
#include "base/text_file.h"

namespace partita {
namespace {

constexpr char kRecordMagic[8] = {'P', 'F', 'L', 'I', 'G', 'H', 'T', '1'};

int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

template <size_t kSize>
void put_text(char (&field)[kSize], std::string_view text) {
  std::memset(field, 0, kSize);
  text.copy(field, kSize - 1);
}

template <size_t kSize>
std::string text_of(const char (&field)[kSize]) {
  return {field, strnlen(field, kSize)};
}

bool is_sound(const FlightEntry& entry) {
  return entry.kind < kNames<Collective>.size() && entry.dtype < std::size(kAllDTypes) &&
         entry.reduce <= static_cast<uint8_t>(Reduce::min) && entry.size >= 1 && entry.size <= (1u << 20);
}

}  // namespace

struct FlightRecord::File {
  char magic[8];
  int32_t rank, size;
  int64_t process;
  char host[64];
  std::atomic<uint64_t> calls;
  std::atomic<int64_t> step;
  std::atomic<int32_t> failed;  // 0: no reason; 1: a reason is being written; 2: it is complete
  int32_t code, lost;
  char failure[1024];
  FlightEntry entries[kEntries];
};

std::shared_ptr<FlightRecord> FlightRecord::create(const std::string& path, int rank, int size,
                                                   const std::string& host) {
  const auto refuse = [&] {
    throw RuntimeFailure(ExitCode::cannot_write,
                         fmt::format("[flight record] cannot write {}: {}", path, std::strerror(errno)));
  };
  std::error_code failure;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failure);
  // Another process may still read or write the old file.
  ::unlink(path.c_str());
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) refuse();
  // Reserves disk space: a write to a page without it would kill the process.
  if (const int error = ::posix_fallocate(file, 0, sizeof(File)); error != 0) {
    ::close(file);
    errno = error;
    refuse();
  }
  void* pages = ::mmap(nullptr, sizeof(File), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (pages == MAP_FAILED) refuse();
  auto* record = new (pages) File{};
  record->rank = rank;
  record->size = size;
  record->process = ::getpid();
  put_text(record->host, host);
  std::memcpy(record->magic, kRecordMagic, sizeof kRecordMagic);
  return std::shared_ptr<FlightRecord>(new FlightRecord(record));
}

FlightRecord::~FlightRecord() { ::munmap(file_, sizeof(File)); }

FlightEntry& FlightRecord::entry(uint64_t number) const { return file_->entries[(number - 1) % kEntries]; }

uint64_t FlightRecord::begin(const Call& call, uint64_t group, std::span<const int> world_ranks, int peer) {
  const uint64_t number = file_->calls.fetch_add(1) + 1;
  FlightEntry& entry = this->entry(number);
  entry = {.number = number,
           .group = group,
           .call = call.number,
           .begin = nanoseconds_now(),
           .count = call.count,
           .step = call.step,
           .peer = peer,
           .root = call.root,
           .kind = static_cast<uint8_t>(call.kind),
           .dtype = static_cast<uint8_t>(call.dtype),
           .reduce = static_cast<uint8_t>(call.reduce),
           .size = static_cast<uint32_t>(world_ranks.size())};
  std::copy_n(world_ranks.begin(), std::min(world_ranks.size(), FlightEntry::kMaxRanks), entry.ranks);
  file_->step.store(call.step);
  return number;
}

void FlightRecord::end(uint64_t number, bool failed) {
  FlightEntry& entry = this->entry(number);
  if (entry.number != number) return;  // overwritten by later calls
  entry.failed = failed ? 1 : 0;
  if (!failed) entry.end = nanoseconds_now();
}

void FlightRecord::fail(ExitCode code, int lost, const std::string& text) noexcept {
  int32_t none = 0;
  if (!file_->failed.compare_exchange_strong(none, 1)) return;
  file_->code = static_cast<int32_t>(code);
  file_->lost = lost;
  put_text(file_->failure, text);
  file_->failed.store(2);
}

FlightLog read_flight_record(const std::string& path) {
  const auto refuse = [&](const std::string& got, const std::string& expected) {
    throw InvalidFile(fmt::format("[diagnose] {}: not a flight record, got {}, expected {}", path, got, expected));
  };
  using File = FlightRecord::File;
  constexpr TextFile kRecord{
      .where = "diagnose", .purpose = "a flight record", .max_bytes = sizeof(File), .may_be_pipe = false};
  const std::string bytes = read_text_file(path, kRecord);
  if (bytes.size() != sizeof(File)) refuse(fmt::format("{} bytes", bytes.size()), fmt::format("{}", sizeof(File)));
  const auto& record = *reinterpret_cast<const File*>(bytes.data());
  if (std::memcmp(record.magic, kRecordMagic, sizeof kRecordMagic) != 0) refuse("another beginning", "PFLIGHT1");
  if (record.size < 1 || record.size > kMaxJobRanks || record.rank < 0 || record.rank >= record.size) {
    refuse(fmt::format("rank {} of {}", record.rank, record.size),
           fmt::format("a rank of a world of 1 to {}", kMaxJobRanks));
  }
  FlightLog log{.rank = record.rank,
                .size = record.size,
                .process = record.process,
                .host = text_of(record.host),
                .calls = record.calls.load(),
                .step = record.step.load()};
  if (record.failed.load() != 0) {
    log.code = failure_of(record.code);
    if (record.lost >= 0 && record.lost < record.size) log.lost = record.lost;
    log.failure = text_of(record.failure);
  }
  for (const FlightEntry& entry : record.entries) {
    if (entry.number == 0) continue;
    if (!is_sound(entry)) refuse(fmt::format("call {} of kind {}", entry.number, entry.kind), "a call");
    log.entries.push_back(entry);
  }
  std::sort(log.entries.begin(), log.entries.end(),
            [](const FlightEntry& a, const FlightEntry& b) { return a.number < b.number; });
  return log;
}

std::string describe(const FlightEntry& entry) {
  std::vector<int> ranks(entry.ranks, entry.ranks + std::min<size_t>(entry.size, FlightEntry::kMaxRanks));
  const Call call{.kind = static_cast<Collective>(entry.kind),
                  .dtype = static_cast<DType>(entry.dtype),
                  .reduce = static_cast<Reduce>(entry.reduce),
                  .count = entry.count};
  std::string text = call.kind == Collective::split ? "split" : describe(call, ranks);
  if (entry.peer >= 0) text += fmt::format(" {} rank {}", call.kind == Collective::send ? "to" : "from", entry.peer);
  if (entry.root >= 0) text += fmt::format(" from member {}", entry.root);
  if (entry.call > 0) text += fmt::format(", call {}", entry.call);
  const std::string more = entry.size > ranks.size() ? ",.." : "";
  text += fmt::format(" of group ({}{})", fmt::join(ranks, ","), more);
  return entry.step > 0 ? text + fmt::format(", step {}", entry.step) : text;
}

}  // namespace partita

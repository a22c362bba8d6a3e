#include "training/report/tensorboard.h"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/folder_entries.h"
#include "base/printable.h"

namespace partita {
namespace {

using ProtoStream = google::protobuf::io::CodedOutputStream;

constexpr std::string_view kEventFile = "events.out.tfevents.";

// Tags of fields, 8 * number + wire type (0: varint, 1: 64 bits, 2: bytes, 5: 32 bits), as in TensorFlow's event.proto
// and summary.proto.
enum EventTag : uint32_t {
  kWallTime = (1 << 3) | 1,
  kEventStep = (2 << 3) | 0,
  kFileVersion = (3 << 3) | 2,
  kSummary = (5 << 3) | 2,
  kSessionLog = (7 << 3) | 2,
  kSummaryValue = (1 << 3) | 2,
  kValueTag = (1 << 3) | 2,
  kSimpleValue = (2 << 3) | 5,
  kSessionStatus = (1 << 3) | 0,
};
constexpr uint32_t kSessionStart = 1;

template <class Fill>
std::string proto(const Fill& fill) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  {
    ProtoStream out(&stream);
    fill(out);
  }
  return bytes;
}

void add_bytes(ProtoStream& out, uint32_t tag, std::string_view bytes) {
  out.WriteTag(tag);
  out.WriteVarint32(static_cast<uint32_t>(bytes.size()));
  out.WriteRaw(bytes.data(), static_cast<int>(bytes.size()));
}

void add_wall_time(ProtoStream& out, double wall_time) {
  out.WriteTag(kWallTime);
  out.WriteLittleEndian64(std::bit_cast<uint64_t>(wall_time));
}

void add_event_step(ProtoStream& out, int64_t step) {
  out.WriteTag(kEventStep);
  out.WriteVarint64(static_cast<uint64_t>(step));
}

std::string version_event(double wall_time) {
  return proto([&](ProtoStream& out) {
    add_wall_time(out, wall_time);
    add_bytes(out, kFileVersion, "brain.Event:2");
  });
}

std::string start_event(double wall_time, int64_t step) {
  const std::string status = proto([](ProtoStream& out) {
    out.WriteTag(kSessionStatus);
    out.WriteVarint32(kSessionStart);
  });
  return proto([&](ProtoStream& out) {
    add_wall_time(out, wall_time);
    add_event_step(out, step);
    add_bytes(out, kSessionLog, status);
  });
}

double wall_now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

constexpr std::array<uint32_t, 256> kCrcTable = [] {
  constexpr uint32_t kPolynomial = 0x82f63b78;  // Castagnoli's, lowest bit first
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    table[i] = crc;
  }
  return table;
}();

template <class Number>
std::string little_endian(Number number) {
  std::string bytes;
  for (size_t i = 0; i < sizeof number; ++i) bytes.push_back(static_cast<char>(number >> (8 * i)));
  return bytes;
}

bool has_event_files(const std::string& folder) {
  return std::ranges::any_of(entries_of(folder), [](const std::filesystem::path& path) {
    return path.filename().string().starts_with(kEventFile);
  });
}

std::string this_host() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return printable(name);
}

}  // namespace

uint32_t masked_crc32c(std::string_view bytes) {
  constexpr uint32_t kMask = 0xa282ead8;
  uint32_t crc = ~uint32_t{0};
  for (const char byte : bytes) crc = kCrcTable[(crc ^ static_cast<uint8_t>(byte)) & 0xff] ^ (crc >> 8);
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + kMask;
}

std::string framed_record(std::string_view data) {
  const std::string length = little_endian(static_cast<uint64_t>(data.size()));
  std::string record = length + little_endian(masked_crc32c(length));
  record += data;
  return record + little_endian(masked_crc32c(data));
}

std::string scalar_event(double wall_time, int64_t step, const std::vector<std::pair<std::string, double>>& scalars) {
  const std::string summary = proto([&](ProtoStream& out) {
    for (const auto& scalar : scalars) {
      add_bytes(out, kSummaryValue, proto([&](ProtoStream& inner) {
                  add_bytes(inner, kValueTag, scalar.first);
                  inner.WriteTag(kSimpleValue);
                  inner.WriteLittleEndian32(std::bit_cast<uint32_t>(static_cast<float>(scalar.second)));
                }));
    }
  });
  return proto([&](ProtoStream& out) {
    add_wall_time(out, wall_time);
    add_event_step(out, step);
    add_bytes(out, kSummary, summary);
  });
}

void TensorboardEvents::close() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

void TensorboardEvents::on_train_begin(const TrainInfo& info) {
  close();
  std::error_code failure;
  std::filesystem::create_directories(folder_, failure);
  const bool goes_on = has_event_files(folder_);
  constexpr int kMode = 0666, kMaxFiles = 10'000;
  const double now = wall_now();
  errno = failure.value();
  // A second training of the same second and process gets a file of its own.
  for (int number = 0; file_ < 0 && !failure && number < kMaxFiles; ++number) {
    path_ = fmt::format("{}/{}{}.{}.{}.{}", folder_, kEventFile, static_cast<int64_t>(now), this_host(), ::getpid(),
                        number);
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode);
    if (file_ < 0 && errno != EEXIST) break;
  }
  if (file_ < 0) {
    throw RuntimeFailure(ExitCode::cannot_write, "[tensorboard] cannot write {}: {}", folder_, std::strerror(errno));
  }
  step_ = info.first_step;
  write(version_event(now));
  if (goes_on) write(start_event(now, info.first_step + 1));
}

void TensorboardEvents::on_step_end(const StepInfo& info) {
  step_ = info.global_step;
  std::vector<std::pair<std::string, double>> scalars{
      {"loss", info.loss}, {"learning_rate", info.learning_rate}, {"step_seconds", info.seconds}};
  if (info.seconds > 0) scalars.emplace_back("samples_per_second", static_cast<double>(info.samples) / info.seconds);
  if (info.memory) scalars.emplace_back("memory_bytes", static_cast<double>(*info.memory));
  if (info.loss_scale != 1) scalars.emplace_back("loss_scale", info.loss_scale);
  write(scalar_event(wall_now(), step_, scalars));
}

void TensorboardEvents::on_validation(const ValidationInfo& info) {
  std::vector<std::pair<std::string, double>> scalars{{"validation/loss", info.metrics.loss}};
  if (info.metrics.classified) scalars.emplace_back("validation/accuracy", info.metrics.accuracy());
  for (const Measured& one : info.metrics.measured) scalars.emplace_back("validation/" + one.name, one.value);
  write(scalar_event(wall_now(), step_, scalars));
}

void TensorboardEvents::write(std::string_view event) {
  if (file_ < 0) return;
  const std::string record = framed_record(event);
  if (write_all(file_, record.data(), record.size())) return;
  const std::string reason = std::strerror(errno);
  close();
  if (warn_) warn_(fmt::format("[tensorboard] cannot write {}: {}; the training continues without it", path_, reason));
}

}  // namespace partita

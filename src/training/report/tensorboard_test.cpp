#include "training/report/tensorboard.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "base/error.h"
#include "frontend/data/readers/test_files.h"
#include "training/test_training.h"

namespace partita {
namespace {

/// CRC-32C by its definition, a bit at a time.
uint32_t plain_crc32c(const std::string& bytes) {
  uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? (crc >> 1) ^ 0x82f63b78 : crc >> 1;
  }
  return ~crc;
}

uint32_t unmasked(uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8;
  return (rotated << 15) | (rotated >> 17);
}

/// A field of a message of protobuf: its number, and a number or bytes.
struct ProtoField {
  uint64_t number = 0, value = 0;
  std::string bytes;
};

uint64_t take_varint(const std::string& text, size_t& at) {
  uint64_t value = 0;
  for (int shift = 0; at < text.size(); shift += 7) {
    const auto byte = static_cast<uint8_t>(text[at++]);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  ADD_FAILURE() << "an unfinished number";
  return 0;
}

std::vector<ProtoField> fields_of(const std::string& message) {
  std::vector<ProtoField> fields;
  for (size_t at = 0; at < message.size();) {
    const uint64_t tag = take_varint(message, at);
    ProtoField& field = fields.emplace_back();
    field.number = tag >> 3;
    const size_t fixed = (tag & 7) == 1 ? 8 : (tag & 7) == 5 ? 4 : 0;
    if ((tag & 7) == 0) {
      field.value = take_varint(message, at);
    } else if (fixed > 0) {
      std::memcpy(&field.value, message.data() + at, fixed);
      at += fixed;
    } else {
      const uint64_t length = take_varint(message, at);
      field.bytes = message.substr(at, length);
      EXPECT_EQ(field.bytes.size(), length);
      at += length;
    }
  }
  return fields;
}

/// An event as its reader sees it.
struct ReadEvent {
  double wall_time = 0;
  int64_t step = 0;
  std::string version;
  bool starts = false;
  std::map<std::string, float> scalars;
};

ReadEvent read_event(const std::string& message) {
  ReadEvent event;
  for (const ProtoField& field : fields_of(message)) {
    if (field.number == 1) event.wall_time = std::bit_cast<double>(field.value);
    if (field.number == 2) event.step = static_cast<int64_t>(field.value);
    if (field.number == 3) event.version = field.bytes;
    if (field.number == 7) event.starts = fields_of(field.bytes).at(0).value == 1;
    if (field.number != 5) continue;
    for (const ProtoField& value : fields_of(field.bytes)) {
      EXPECT_EQ(value.number, 1U);
      const std::vector<ProtoField> parts = fields_of(value.bytes);
      EXPECT_EQ(parts.size(), 2U);
      event.scalars[parts.at(0).bytes] = std::bit_cast<float>(static_cast<uint32_t>(parts.at(1).value));
    }
  }
  return event;
}

std::vector<ReadEvent> read_events(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<ReadEvent> events;
  const auto number_at = [&](size_t at, size_t bytes) {
    uint64_t value = 0;
    std::memcpy(&value, text.data() + at, bytes);
    return value;
  };
  for (size_t at = 0; at < text.size();) {
    const uint64_t length = number_at(at, 8);
    EXPECT_EQ(unmasked(static_cast<uint32_t>(number_at(at + 8, 4))), plain_crc32c(text.substr(at, 8)));
    const std::string data = text.substr(at + 12, length);
    EXPECT_EQ(unmasked(static_cast<uint32_t>(number_at(at + 12 + length, 4))), plain_crc32c(data));
    events.push_back(read_event(data));
    at += length + 16;
  }
  return events;
}

std::vector<std::filesystem::path> event_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files(std::filesystem::directory_iterator(folder), {});
  std::ranges::sort(files);
  return files;
}

TEST(Tensorboard, ChecksumsAreThoseOfCastagnoli) {
  EXPECT_EQ(plain_crc32c("123456789"), 0xe3069283);  // RFC 3720, appendix B.4
  EXPECT_EQ(plain_crc32c(std::string(32, '\0')), 0x8a9136aa);
  EXPECT_EQ(unmasked(masked_crc32c("123456789")), 0xe3069283);
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::string bytes(random() % 300, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    EXPECT_EQ(unmasked(masked_crc32c(bytes)), plain_crc32c(bytes));
    EXPECT_EQ(framed_record(bytes).size(), bytes.size() + 16);
  }
}

TEST(Tensorboard, StepsAndValidationsAreScalars) {
  const TempDir folder;
  const std::string events = (folder.path() / "a/b").string();
  TensorboardEvents writer(events, nullptr);
  writer.on_train_begin({});
  writer.on_step_end(
      {.global_step = 1, .loss = 2.5, .seconds = 0.5, .samples = 8, .learning_rate = 0.25, .memory = 1024});
  writer.on_step_end({.global_step = 300, .loss = NAN, .skipped = true, .loss_scale = 4, .seconds = 0.5, .samples = 8});
  const Metrics of_classes{.samples = 4, .correct = 3, .loss = 0.125, .measured = {{"f1_macro", 0.25}}},
      of_numbers{.samples = 4, .classified = false, .loss = 0.5};
  writer.on_validation({.epoch = 1, .metrics = of_classes});
  writer.on_epoch_end({.epoch = 2});
  writer.on_validation({.epoch = 3, .ends_epoch = true, .metrics = of_numbers});
  const auto files = event_files(events);
  ASSERT_EQ(files.size(), 1U);
  EXPECT_TRUE(files[0].filename().string().starts_with("events.out.tfevents."));
  const std::vector<ReadEvent> read = read_events(files[0]);
  ASSERT_EQ(read.size(), 5U);
  EXPECT_EQ(read[0].version, "brain.Event:2");
  EXPECT_GT(read[0].wall_time, 1.6e9);
  const std::map<std::string, float> first{{"loss", 2.5f},
                                           {"learning_rate", 0.25f},
                                           {"step_seconds", 0.5f},
                                           {"samples_per_second", 16},
                                           {"memory_bytes", 1024}};
  EXPECT_EQ(read[1].scalars, first);
  EXPECT_EQ(read[1].step, 1);
  EXPECT_EQ(read[2].step, 300);
  EXPECT_TRUE(std::isnan(read[2].scalars.at("loss")));
  EXPECT_EQ(read[2].scalars.at("loss_scale"), 4);
  const std::map<std::string, float> third{
      {"validation/loss", 0.125f}, {"validation/accuracy", 0.75f}, {"validation/f1_macro", 0.25f}};
  EXPECT_EQ(read[3].scalars, third);
  EXPECT_EQ(read[3].step, 300);
  EXPECT_EQ(read[4].scalars.size(), 1U);
}

TEST(Tensorboard, AResumedTrainingHidesTheStepsThatItRepeats) {
  const TempDir folder;
  const std::string events = folder.path().string();
  const auto steps = [&](int64_t first, int64_t last) {
    TensorboardEvents writer(events, nullptr);
    writer.on_train_begin({.first_step = first});
    for (int64_t step = first + 1; step <= last; ++step) writer.on_step_end({.global_step = step, .seconds = 1});
  };
  steps(0, 5);
  steps(3, 6);
  const auto files = event_files(events);
  ASSERT_EQ(files.size(), 2U);
  int starts = 0;
  for (const auto& file : files) {
    for (const ReadEvent& event : read_events(file)) {
      if (!event.starts) continue;
      ++starts;
      EXPECT_EQ(event.step, 4);
    }
  }
  EXPECT_EQ(starts, 1);
}

TEST(Tensorboard, RanksLogTheSameLosses) {
  std::map<int64_t, float> expected;
  for (const int ranks : {1, 2, 4}) {
    const TempDir folder;
    JobConfig config = small_config(ranks);
    config.files.tensorboard = (folder.path() / "events").string();
    Model model(small_network(), config, Place{.cores = 1});
    model.train(rows_of(Split::train), {.epochs = 1});
    std::map<int64_t, float> losses;
    for (const ReadEvent& event : read_events(event_files(config.files.tensorboard).at(0))) {
      if (event.scalars.contains("loss")) losses[event.step] = event.scalars.at("loss");
    }
    EXPECT_EQ(losses.size(), static_cast<size_t>(kSmallSteps));
    if (expected.empty()) expected = losses;
    for (const auto& [step, loss] : losses) EXPECT_NEAR(loss, expected.at(step), 1e-5) << ranks;
  }
}

TEST(Tensorboard, AFolderThatCannotBeWrittenIsExit73) {
  try {
    TensorboardEvents writer("/dev/null/events", nullptr);
    writer.on_train_begin({});
    FAIL();
  } catch (const RuntimeFailure& error) {
    EXPECT_EQ(error.code(), ExitCode::cannot_write);
    EXPECT_TRUE(std::string(error.what()).starts_with("[tensorboard] cannot write /dev/null/events: ")) << error.what();
  }
}

}  // namespace
}  // namespace partita

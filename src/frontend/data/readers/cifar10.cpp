#include "frontend/data/readers/cifar10.h"

#include <array>

#include "frontend/data/readers/file_bytes.h"

namespace partita {
namespace {

constexpr int64_t kPlane = 32 * 32;
constexpr int64_t kPixels = 3 * kPlane;
constexpr int64_t kRecord = 1 + kPixels;
constexpr int64_t kMaxRecords = 100'000;  // maximum records of one file; the official ones hold 10'000
constexpr uint8_t kCifarClasses = 10;

std::vector<std::filesystem::path> batch_files(const std::filesystem::path& directory, Split split) {
  if (split == Split::test) return {require_packed(directory, "test_batch.bin")};
  std::vector<std::filesystem::path> files;
  std::string missing;  // the first missing file
  for (int i = 1; i <= kCifar10Batches; ++i) {
    const std::string name = fmt::format("data_batch_{}.bin", i);
    std::filesystem::path path = find_packed(directory, name);
    if (path.empty()) {
      if (missing.empty()) missing = name;
      continue;
    }
    if (!missing.empty()) {
      throw MissingFile(
          "[cifar10] a batch is missing in '{}', got {} without {}, expected all five or the first of them",
          directory.string(), path.filename().string(), missing);
    }
    files.push_back(std::move(path));
  }
  if (files.empty()) require_packed(directory, missing);
  return files;
}

void append_records(const std::filesystem::path& path, const std::vector<uint8_t>& bytes, std::vector<uint8_t>& pixels,
                    std::vector<uint8_t>& labels) {
  std::array<uint8_t, kPixels> image;
  for (size_t start = 0; start < bytes.size(); start += kRecord) {
    const uint8_t label = bytes[start];
    if (label >= kCifarClasses) {
      throw InvalidFile("[cifar10] label out of range in '{}' at byte {}, got {}, expected less than {}", path.string(),
                        start, label, kCifarClasses);
    }
    labels.push_back(label);
    const uint8_t* planes = bytes.data() + start + 1;
    for (int64_t p = 0; p < kPlane; ++p) {
      for (int64_t c = 0; c < 3; ++c) {
        image[static_cast<size_t>(3 * p + c)] = planes[c * kPlane + p];
      }
    }
    pixels.insert(pixels.end(), image.begin(), image.end());
  }
}

}  // namespace

bool has_cifar10(const std::filesystem::path& directory, Split split) {
  return !find_packed(directory, split == Split::train ? "data_batch_1.bin" : "test_batch.bin").empty();
}

DatasetPtr read_cifar10(const std::filesystem::path& directory, Split split) {
  const std::vector<std::filesystem::path> files = batch_files(directory, split);
  std::vector<uint8_t> pixels;
  std::vector<uint8_t> labels;
  for (size_t i = 0; i < files.size(); ++i) {
    const std::vector<uint8_t> bytes = read_file(files[i], kMaxRecords * kRecord);
    if (bytes.size() % kRecord != 0) {
      throw InvalidFile("[cifar10] truncated record in '{}' at byte {}, got {} bytes, expected a multiple of {}",
                        files[i].string(), bytes.size() / kRecord * kRecord, bytes.size(), kRecord);
    }
    // All files are usually of one size, so this allocates once.
    pixels.reserve(pixels.size() + bytes.size() / kRecord * kPixels * (files.size() - i));
    append_records(files[i], bytes, pixels, labels);
  }
  return image_rows(kCifar10Image, pixels, labels);
}

int count_cifar10_batches(const std::filesystem::path& directory) {
  return static_cast<int>(batch_files(directory, Split::train).size());
}

}  // namespace partita

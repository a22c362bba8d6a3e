#include "frontend/data/readers/mnist.h"

#include "frontend/data/readers/file_bytes.h"

namespace partita {
namespace {

constexpr uint32_t kLabelMagic = 0x801;
constexpr uint32_t kImageMagic = 0x803;
constexpr uint32_t kSide = 28;
constexpr uint8_t kMnistClasses = 10;
constexpr int64_t kMaxMnistBytes = int64_t{1} << 31;

uint32_t big_endian(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

/// Returns the elements of an IDX file whose items have the sizes `item` (none: one byte each), item after item. Throws
/// MissingFile if it cannot be opened, and InvalidFile for damaged packed data, another magic number, other sizes, and
/// a file that is too short, too long or of more than 2^31 elements.
std::vector<uint8_t> read_idx(const std::filesystem::path& path, uint32_t magic, const std::vector<uint32_t>& item) {
  PackedFile file(path);
  const auto refuse = [&](std::string_view what, size_t offset, const std::string& got, const std::string& expected) {
    return InvalidFile("[mnist] {} in '{}' at byte {}, got {}, expected {}", what, path.string(), offset, got,
                       expected);
  };
  const size_t header_size = 4 * (2 + item.size());
  const std::vector<uint8_t> header = file.read(static_cast<int64_t>(header_size));
  if (header.size() < header_size) {
    throw refuse("truncated header", header.size(), "the end of the file", fmt::format("{} bytes", header_size));
  }
  if (const uint32_t got = big_endian(header.data()); got != magic) {
    throw refuse("wrong magic number", 0, fmt::format("{:#x}", got), fmt::format("{:#x}", magic));
  }
  int64_t declared = big_endian(header.data() + 4);
  for (size_t d = 0; d < item.size(); ++d) {
    const size_t offset = 8 + 4 * d;
    const uint32_t size = big_endian(header.data() + offset);
    if (size != item[d]) {
      throw refuse("wrong image size", offset, fmt::to_string(size), fmt::to_string(item[d]));
    }
    declared *= size;
  }
  if (declared > kMaxMnistBytes) {
    throw refuse("too many elements", 4, fmt::to_string(declared), fmt::format("at most {}", kMaxMnistBytes));
  }
  std::vector<uint8_t> elements = file.read(declared + 1);
  const int64_t found = static_cast<int64_t>(elements.size());
  if (found != declared) {
    throw refuse(found < declared ? "truncated data" : "data after the end",
                 header_size + static_cast<size_t>(std::min(found, declared)),
                 found < declared ? fmt::format("{} elements", found) : "more bytes",
                 fmt::format("{} elements", declared));
  }
  return elements;
}

struct Names {
  std::string images, labels;
};

Names names_of(Split split) {
  const std::string prefix = split == Split::train ? "train" : "t10k";
  return {prefix + "-images-idx3-ubyte", prefix + "-labels-idx1-ubyte"};
}

}  // namespace

bool has_mnist(const std::filesystem::path& directory, Split split) {
  const Names names = names_of(split);
  return !find_packed(directory, names.images).empty() || !find_packed(directory, names.labels).empty();
}

DatasetPtr read_mnist(const std::filesystem::path& directory, Split split) {
  const Names names = names_of(split);
  const auto image_path = require_packed(directory, names.images);
  const auto label_path = require_packed(directory, names.labels);
  std::vector<uint8_t> labels = read_idx(label_path, kLabelMagic, {});
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < kMnistClasses) continue;
    throw InvalidFile("[mnist] label out of range in '{}' at byte {}, got {}, expected less than {}",
                      label_path.string(), 8 + i, labels[i], kMnistClasses);
  }
  std::vector<uint8_t> pixels = read_idx(image_path, kImageMagic, {kSide, kSide});
  const size_t images = pixels.size() / (kSide * kSide);
  if (images != labels.size()) {
    throw InvalidFile("[mnist] counts differ in '{}', got {} images, expected {}, the number of labels",
                      image_path.string(), images, labels.size());
  }
  return image_rows(kMnistImage, pixels, labels);
}

}  // namespace partita

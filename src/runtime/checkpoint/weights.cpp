// The safetensors format: 8 bytes N, little endian; N bytes of JSON, padded by spaces; the elements of
// all tensors, without holes. The JSON maps a name to {"dtype", "shape", "data_offsets": [begin, end]}.

#include "runtime/checkpoint/weights.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "base/checksum.h"
#include "base/files.h"
#include "runtime/checkpoint/ckpt_file.h"
#include "runtime/checkpoint/open_weights.h"
#include "runtime/checkpoint/temporary_file.h"

namespace partita {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are written as they lie in memory");

/// The contents that a path has before it is replaced.
class FormerFile {
 public:
  /// Reads the file, if there is one. Throws RuntimeFailure(cannot_write) if a link leads nowhere.
  explicit FormerFile(const std::string& path) : target_(follow_links(path)) {
    std::error_code failure;
    exists_ = std::filesystem::exists(target_, failure);
    std::ifstream file(target_, std::ios::binary);
    if (file) text_.emplace(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  /// Brings the file back, or removes the new one if there was none. Ignores errors.
  void restore() const {
    if (!exists_) ::unlink(target_.c_str());
    if (!text_) return;
    try {
      save_text(target_, *text_);
    } catch (const RuntimeFailure&) {  // the failure that led here is reported
    }
  }

 private:
  std::string target_;
  bool exists_ = false;
  std::optional<std::string> text_;  // none: there is no file, or it cannot be read
};

/// Metadata key of the checksums: one of the header, then one per tensor in the order of their places.
constexpr const char* kChecksums = "partita.checksums";

/// Returns checksums as text: that of the header's content (not of its formatting) and of the tensors' checksums, then,
/// each after a space, the checksums of the tensors, given as `tensors` in the order of `places`.
std::string print_checksums(const std::vector<TensorPlace>& places, const Metadata& metadata,
                            const std::vector<uint64_t>& tensors) {
  std::string header, digits;
  for (const auto& [key, value] : metadata) {
    if (key != kChecksums) header += fmt::format("{} {} {} {}\n", key.size(), value.size(), key, value);
  }
  for (size_t i = 0; i < places.size(); ++i) {
    const TensorPlace& place = places[i];
    header += fmt::format("{} {} {} {} {}\n", place.name.size(), place.name, print(place.type), place.begin, place.end);
    digits += " " + print_checksum(tensors[i]);
  }
  return checksum_of_text(header + digits) + digits;
}

/// Returns the places of the tensors in the order of the file: wide elements first, so that each is aligned to its
/// element, and of equally wide ones in the order of `types`.
std::vector<TensorPlace> place_tensors(const std::vector<std::pair<std::string, Type>>& types) {
  std::vector<TensorPlace> places;
  for (const auto& [name, type] : types) places.push_back({name, type, 0, 0});
  std::ranges::stable_sort(
      places, [](const TensorPlace& a, const TensorPlace& b) { return size_of(a.type.dtype) > size_of(b.type.dtype); });
  int64_t offset = 0;
  for (TensorPlace& place : places) {
    place.begin = offset;
    place.end = offset += place.type.bytes();
  }
  return places;
}

/// Writes a file of tensors. `give(name, write)` calls write(array) once. The checksums are put into the header at the
/// end. Throws RuntimeFailure(cannot_write) if the file cannot be written, InternalError if an array has another type,
/// and what `give` throws.
template <class Give>
void write_tensors(const std::string& path, const std::vector<std::pair<std::string, Type>>& types, Metadata metadata,
                   bool crc32, const Give& give) {
  if (path.ends_with(kCkptEnding)) return write_ckpt(path, types, give, metadata, crc32);
  const std::vector<TensorPlace> places = place_tensors(types);
  std::vector<uint64_t> checksums(places.size(), 0);
  metadata[kChecksums] = print_checksums(places, metadata, checksums);
  std::string header = print_safetensors_header(places, metadata);
  const uint64_t header_bytes = header.size();
  TemporaryFile file(path);
  file.write(&header_bytes, sizeof header_bytes);
  file.write(header.data(), header.size());
  for (size_t i = 0; i < places.size(); ++i) {
    give(places[i].name, [&](const Array& array) {
      PARTITA_CHECK(array.type() == places[i].type, "tensor {} is {}, not {}", places[i].name, print(array.type()),
                    print(places[i].type));
      const auto bytes = static_cast<size_t>(array.type().bytes());
      checksums[i] = checksum_of(array.data(), bytes);
      file.write(array.data(), bytes);
    });
  }
  metadata[kChecksums] = print_checksums(places, metadata, checksums);
  header = print_safetensors_header(places, metadata);
  PARTITA_CHECK(header.size() == header_bytes, "the header of {} has changed its length", path);
  file.rewrite(header.data(), header.size(), sizeof header_bytes);
  file.commit();
}

/// Verifies the checksums of a file and removes their entry. Files without checksums pass. Throws InvalidFile, naming
/// the first tensor that is damaged, or the header.
void verify_checksums(WeightsFile& file, const std::vector<TensorPlace>& places, const std::string& path) {
  const auto given = file.metadata.find(kChecksums);
  if (given == file.metadata.end()) return;
  std::vector<uint64_t> checksums;
  for (const TensorPlace& place : places) {
    const Array& array = file.tensors.at(place.name);
    checksums.push_back(checksum_of(array.data(), static_cast<size_t>(array.type().bytes())));
  }
  const std::string expected = print_checksums(places, file.metadata, checksums), got = given->second;
  if (got != expected) {
    for (size_t i = 0, digits = expected.find(' '); got.size() == expected.size() && i < places.size(); ++i) {
      constexpr size_t kWord = 17;  // hexadecimal digits and a space
      if (got.compare(digits + i * kWord, kWord, expected, digits + i * kWord, kWord) == 0) continue;
      throw InvalidFile("[weights] {}: tensor '{}' is damaged: its checksum differs", path, places[i].name);
    }
    throw InvalidFile("[weights] {}: the header is damaged: its checksum differs", path);
  }
  file.metadata.erase(given);
}

}  // namespace

void check_writable(const std::string& path) { const TemporaryFile probe(path); }

void save_text(const std::string& path, std::string_view text) {
  TemporaryFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

void save_texts(const std::vector<std::pair<std::string, std::string>>& texts) {
  std::deque<TemporaryFile> files;
  std::vector<FormerFile> former;
  for (const auto& [path, text] : texts) {
    former.emplace_back(path);
    files.emplace_back(path).write(text.data(), text.size());
    files.back().finish();
  }
  for (size_t i = 0; i < files.size(); ++i) {
    try {
      files[i].replace();
    } catch (const RuntimeFailure&) {
      for (size_t k = 0; k <= i; ++k) former[k].restore();
      throw;
    }
  }
}

void save_tensors(const std::string& path, const std::vector<std::pair<std::string, Type>>& types,
                  const std::function<Array(const std::string& name)>& make, const Metadata& metadata) {
  write_tensors(path, types, metadata, /*crc32=*/false,
                [&](const std::string& name, const auto& write) { write(make(name)); });
}

void save_weights(const std::string& path, const std::vector<std::pair<std::string, Array>>& weights,
                  const Metadata& metadata, bool crc32) {
  std::vector<std::pair<std::string, Type>> types;
  std::map<std::string_view, const Array*> arrays;
  for (const auto& [name, array] : weights) {
    types.emplace_back(name, array.type());
    arrays.emplace(name, &array);
  }
  write_tensors(path, types, metadata, crc32,
                [&](const std::string& name, const auto& write) { write(*arrays.at(name)); });
}

Metadata read_weights_metadata(const std::string& path) {
  OpenWeights weights = open_weights(path);
  if (weights.is_ckpt) return read_ckpt_metadata(weights.file.fd(), weights.bytes, path);
  weights.header.metadata.erase(kChecksums);
  return std::move(weights.header.metadata);
}

WeightsFile read_weights_file(const std::string& path) {
  auto [file, bytes, is_ckpt, parsed, data_begin] = open_weights(path);
  if (is_ckpt) return read_ckpt(file.fd(), bytes, path);
  WeightsFile weights{.metadata = std::move(parsed.metadata)};
  for (const TensorPlace& place : parsed.places) {
    Array& array = weights.tensors.emplace(place.name, Array(place.type)).first->second;
    if (!read_all(file.fd(), array.data(), static_cast<size_t>(place.type.bytes()), data_begin + place.begin)) {
      throw InvalidFile("[weights] {}: tensor '{}' at offset {}: the file ended", path, place.name,
                        data_begin + place.begin);
    }
  }
  verify_checksums(weights, parsed.places, path);
  return weights;
}

std::map<std::string, Array> load_weights(const std::string& path) { return read_weights_file(path).tensors; }

}  // namespace partita

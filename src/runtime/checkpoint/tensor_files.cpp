#include "runtime/checkpoint/tensor_files.h"

#include <algorithm>

#include "base/checksum.h"
#include "base/convert_elements.h"
#include "base/error.h"

namespace partita {

TensorFiles::TensorFiles(const std::vector<std::string>& paths) : paths_(paths) {
  for (size_t i = 0; i < paths.size(); ++i) {
    OpenWeights weights = open_weights(paths[i]);
    if (weights.is_ckpt) {
      throw InvalidFile("[weights] {}: another format, got a checkpoint of MindSpore, expected a safetensors file",
                        paths[i]);
    }
    for (const TensorPlace& place : weights.header.places) {
      if (!types_.emplace(place.name, place.type).second) {
        throw InvalidFile("[weights] {}: tensor '{}' appears again, got another one in {}, expected each once",
                          paths[i], place.name, path_of(place.name));
      }
      places_.emplace(place.name, Place{i, weights.data_begin + place.begin});
    }
    files_.push_back(std::move(weights.file));
  }
}

void TensorFiles::read(const std::string& name, const Box& box, DType dtype, void* to) const {
  const Type& type = types_.at(name);
  const Place& place = places_.at(name);
  if (is_float(type.dtype) != is_float(dtype)) {
    throw InvalidFile("[weights] {}: tensor '{}' has another type, got {}, expected {}", path_of(name), name,
                      print(type), name_of(dtype));
  }
  const auto own_size = static_cast<int64_t>(size_of(type.dtype)), size = static_cast<int64_t>(size_of(dtype));
  constexpr int64_t kPieceBytes = int64_t{4} << 20;
  std::vector<char> bytes;
  for_common_runs(box, whole_box(type.shape), box, [&](int64_t first, int64_t target, int64_t count) {
    // Long runs are read in pieces, so that the conversion needs little memory.
    for (int64_t done = 0; done < count; done += kPieceBytes / own_size) {
      const int64_t elements = std::min(count - done, kPieceBytes / own_size);
      bytes.resize(static_cast<size_t>(elements * own_size));
      if (!read_all(files_[place.file].fd(), bytes.data(), bytes.size(), place.begin + (first + done) * own_size)) {
        throw InvalidFile("[weights] {}: tensor '{}' at offset {}: the file ended", path_of(name), name,
                          place.begin + (first + done) * own_size);
      }
      convert_elements(type.dtype, bytes.data(), dtype, static_cast<char*>(to) + (target + done) * size, elements);
    }
  });
}

std::vector<char> TensorFiles::first_bytes(const std::string& name) const {
  constexpr int64_t kMaxSample = 4096;
  const Place& place = places_.at(name);
  std::vector<char> bytes(static_cast<size_t>(std::min(kMaxSample, types_.at(name).bytes())));
  if (read_all(files_[place.file].fd(), bytes.data(), bytes.size(), place.begin)) return bytes;
  throw InvalidFile("[weights] {}: tensor '{}' at offset {}: the file ended", path_of(name), name, place.begin);
}

uint64_t TensorFiles::digest() const {
  std::string text;
  for (const auto& [name, type] : types_) {
    const std::vector<char> bytes = first_bytes(name);
    text += fmt::format("{} {} {} {}\n", name, print(type), places_.at(name).begin,
                        print_checksum(checksum_of(bytes.data(), bytes.size())));
  }
  return checksum_of(text.data(), text.size());
}

}  // namespace partita

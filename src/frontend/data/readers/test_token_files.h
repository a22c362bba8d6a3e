#pragma once
// Files of token ids for tests.

#include <cstring>
#include <fstream>

#include "frontend/data/readers/test_files.h"

namespace partita {

/// Returns ids as the bytes of a flat file.
template <class Id>
Bytes id_bytes(const std::vector<int32_t>& ids) {
  Bytes bytes(ids.size() * sizeof(Id));
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto id = static_cast<Id>(ids[i]);
    std::memcpy(bytes.data() + i * sizeof(Id), &id, sizeof(Id));
  }
  return bytes;
}

/// Writes NAME.bin and NAME.idx in Megatron's format, a sequence for each document, and returns the path of the index.
template <class Id>
std::filesystem::path write_indexed(const TempDir& dir, const std::string& name,
                                    const std::vector<std::vector<int32_t>>& documents) {
  Bytes all, index{'M', 'M', 'I', 'D', 'I', 'D', 'X', 0, 0};
  const auto add = [&](auto number) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&number);
    index.insert(index.end(), bytes, bytes + sizeof number);
  };
  add(uint64_t{1});
  add(static_cast<uint8_t>(sizeof(Id) == 2 ? 8 : 4));
  add(uint64_t{documents.size()});
  add(uint64_t{documents.size() + 1});
  for (const auto& document : documents) add(static_cast<int32_t>(document.size()));
  for (const auto& document : documents) {
    add(static_cast<int64_t>(all.size()));
    const Bytes bytes = id_bytes<Id>(document);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  for (size_t d = 0; d <= documents.size(); ++d) add(static_cast<int64_t>(d));
  dir.write(name + ".bin", all);
  return dir.write(name + ".idx", index);
}

/// Returns a mask as the bytes of its file.
inline Bytes mask_bytes(const std::vector<bool>& is_target) {
  Bytes bytes{'P', 'A', 'R', 'T', 'M', 'A', 'S', 'K', 1, 0, 0, 0, 0, 0, 0, 0};
  const auto count = static_cast<uint64_t>(is_target.size());
  const auto* number = reinterpret_cast<const uint8_t*>(&count);
  bytes.insert(bytes.end(), number, number + sizeof count);
  bytes.resize(bytes.size() + (is_target.size() + 7) / 8);
  for (size_t i = 0; i < is_target.size(); ++i) {
    if (is_target[i]) bytes[24 + i / 8] = static_cast<uint8_t>(bytes[24 + i / 8] | 1U << i % 8);
  }
  return bytes;
}

inline Bytes read_bytes(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace partita

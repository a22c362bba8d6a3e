#pragma once
// Binary keys for the caches of a search.

#include <string>
#include <vector>

#include "ir/sharding/mesh.h"

namespace partita {

inline void add_pointer(std::string& key, const void* pointer) {
  key.append(reinterpret_cast<const char*>(&pointer), sizeof(pointer));  // NOLINT: bytes of a key
}
inline void add_integer(std::string& key, int64_t number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof(number));  // NOLINT: bytes of a key
}
inline void add_axes(std::string& key, const Axes& axes) {
  for (int axis : axes) key += static_cast<char>(axis + 1);
  key += '\0';
}
inline void add_dims(std::string& key, const std::vector<Axes>& dims) {
  for (const Axes& axes : dims) add_axes(key, axes);
  key += '|';
}

}  // namespace partita

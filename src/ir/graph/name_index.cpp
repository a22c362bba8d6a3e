#include "ir/graph/name_index.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include "base/error.h"

namespace partita {

size_t NameIndex::slot_of(uint64_t hash, std::string_view name) const {
  const size_t mask = slots_.size() - 1;
  for (size_t slot = hash & mask;; slot = (slot + 1) & mask) {
    if (slots_[slot] < 0) return slot;
    const Name& known = names_[static_cast<size_t>(slots_[slot])];
    if (known.hash == hash && std::string_view(text_).substr(known.begin, known.length) == name) return slot;
  }
}

int64_t NameIndex::find(std::string_view name) const {
  return slots_.empty() ? -1 : slots_[slot_of(std::hash<std::string_view>()(name), name)];
}

bool NameIndex::insert(std::string_view name) {
  if (2 * (names_.size() + 1) > slots_.size()) rehash(std::max<size_t>(16, 2 * slots_.size()));
  const uint64_t hash = std::hash<std::string_view>()(name);
  int32_t& slot = slots_[slot_of(hash, name)];
  if (slot >= 0) return false;
  PARTITA_CHECK(names_.size() < static_cast<size_t>(std::numeric_limits<int32_t>::max()), "{} names", names_.size());
  slot = static_cast<int32_t>(names_.size());
  names_.push_back({hash, text_.size(), name.size()});
  text_ += name;
  return true;
}

void NameIndex::reserve(size_t names) {
  names_.reserve(names);
  if (2 * names > slots_.size()) rehash(std::bit_ceil(2 * names));
}

void NameIndex::rehash(size_t slots) {
  slots_.assign(slots, -1);
  for (size_t i = 0; i < names_.size(); ++i) {
    size_t slot = names_[i].hash & (slots - 1);
    while (slots_[slot] >= 0) slot = (slot + 1) & (slots - 1);
    slots_[slot] = static_cast<int32_t>(i);
  }
}

}  // namespace partita

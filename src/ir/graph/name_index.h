#pragma once
// Names in insertion order, with look-up by text.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace partita {

/// A flat hash table over one text. Graphs have hundreds of thousands of names, and an allocation per name would take
/// longer than the nodes themselves.
class NameIndex {
 public:
  /// Returns the position of the name in insertion order, or -1 if it is absent.
  int64_t find(std::string_view name) const;
  /// Appends the name and returns true; returns false, and changes nothing, if it was present.
  bool insert(std::string_view name);
  size_t size() const { return names_.size(); }
  /// Prepares for `names` names in all.
  void reserve(size_t names);

 private:
  struct Name {
    uint64_t hash;
    size_t begin, length;  // in the text
  };

  /// Returns the slot of the name, or the empty slot where it belongs.
  size_t slot_of(uint64_t hash, std::string_view name) const;
  void rehash(size_t slots);

  std::string text_;
  std::vector<Name> names_;
  std::vector<int32_t> slots_;  // positions, or -1; their number is a power of two, at most half of them in use
};

}  // namespace partita

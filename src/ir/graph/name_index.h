#pragma once
// Names in the order in which they came, found by their text.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace partita {

/// A flat hash table over one text: graphs have hundreds of thousands of names, and an allocation for each would take
/// longer than the nodes themselves.
class NameIndex {
 public:
  /// The position of the name; -1 when it is not there.
  int64_t find(std::string_view name) const;
  /// False when it was there already.
  bool insert(std::string_view name);
  size_t size() const { return names_.size(); }
  void reserve(size_t names);

 private:
  struct Name {
    uint64_t hash;
    size_t begin, length;  // in the text
  };

  /// Of the name, or where it would be.
  size_t slot_of(uint64_t hash, std::string_view name) const;
  void rehash(size_t slots);

  std::string text_;
  std::vector<Name> names_;
  std::vector<int32_t> slots_;  // positions, or -1; a power of two of them, at most half of them taken
};

}  // namespace partita

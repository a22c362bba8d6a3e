#pragma once
// Seconds of collectives by kind.

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "base/collective.h"
#include "base/error.h"

namespace partita {

/// A map from kind to seconds, ordered by kind. It does not allocate, since prices add up many of them.
class SecondsByKind {
 public:
  using Item = std::pair<Collective, double>;

  SecondsByKind() = default;
  SecondsByKind(std::initializer_list<Item> items) {
    for (const auto& [kind, seconds] : items) (*this)[kind] = seconds;
  }

  /// The seconds of a kind; inserts 0 if it is missing. Throws InternalError for more kinds than fit.
  double& operator[](Collective kind) {
    Item* const place = std::find_if(begin(), end(), [&](const Item& item) { return item.first >= kind; });
    if (place != end() && place->first == kind) return place->second;
    PARTITA_CHECK(count_ < items_.size(), "{} kinds of collectives", count_ + 1);
    std::move_backward(place, end(), end() + 1);
    ++count_;
    *place = {kind, 0};
    return place->second;
  }
  /// Adds `times` times the seconds of each kind of `other`. Throws InternalError for more kinds than fit.
  void add(const SecondsByKind& other, double times = 1) {
    for (const auto& [kind, seconds] : other) (*this)[kind] += times * seconds;
  }
  bool contains(Collective kind) const {
    return std::any_of(begin(), end(), [&](const Item& item) { return item.first == kind; });
  }
  /// The seconds of a kind. Throws InternalError if it is missing.
  double at(Collective kind) const {
    const Item* const place = std::find_if(begin(), end(), [&](const Item& item) { return item.first == kind; });
    PARTITA_CHECK(place != end(), "no seconds of {}", name_of(kind));
    return place->second;
  }
  bool empty() const { return count_ == 0; }
  Item* begin() { return items_.data(); }
  Item* end() { return items_.data() + count_; }
  const Item* begin() const { return items_.data(); }
  const Item* end() const { return items_.data() + count_; }

 private:
  static constexpr size_t kMaxKinds = 8;  // kinds between ranks that graphs and stages use
  std::array<Item, kMaxKinds> items_{};
  size_t count_ = 0;
};

}  // namespace partita

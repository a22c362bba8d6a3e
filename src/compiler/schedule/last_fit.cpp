#include "compiler/schedule/last_fit.h"

#include <algorithm>
#include <limits>

namespace partita {
namespace {

constexpr int64_t kNothing = std::numeric_limits<int64_t>::min();

}  // namespace

void LastFit::push_back(int64_t number) {
  if (size_ == leaves()) {
    std::vector<int64_t> numbers(largest_.begin() + static_cast<std::ptrdiff_t>(leaves()), largest_.end());
    largest_.assign(std::max<size_t>(2, largest_.size() * 2), kNothing);
    for (size_t i = 0; i < numbers.size(); ++i) set(static_cast<int>(i), numbers[i]);
  }
  set(static_cast<int>(size_++), number);
}

void LastFit::set(int place, int64_t number) {
  size_t node = leaves() + static_cast<size_t>(place);
  largest_[node] = number;
  for (node /= 2; node > 0; node /= 2) largest_[node] = std::max(largest_[2 * node], largest_[2 * node + 1]);
}

int LastFit::last_at_least(int64_t number) const {
  if (size_ == 0) return -1;
  size_t node = 1;
  if (largest_[node] < number) return -1;
  while (node < leaves()) node = largest_[2 * node + 1] >= number ? 2 * node + 1 : 2 * node;
  return static_cast<int>(node - leaves());
}

}  // namespace partita

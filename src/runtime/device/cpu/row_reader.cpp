#include "runtime/device/cpu/row_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/finite.h"
#include "base/past_cache.h"

namespace partita {
namespace {

/// Elements of 4 bytes, whatever they are; a register of eight.
typedef int32_t Word __attribute__((may_alias));  // NOLINT(modernize-use-using): `using` drops it in templates
using Words = int32_t __attribute__((vector_size(32)));
constexpr int64_t kWords = sizeof(Words) / sizeof(Word);

/// Where elements lie: at the sum of what this has for each of their indices, by dimension.
using Places = std::vector<std::vector<int64_t>>;

/// A block of a memory format: so many indices of a dimension beside each other.
struct Block {
  int64_t size;
  size_t dim;
};

struct BlockedFormat {
  std::vector<size_t> dims;   // outermost first
  std::vector<Block> blocks;  // within these, outermost first
};

BlockedFormat parse_tag(std::string_view tag, size_t rank) {
  const auto dim_of = [&](char letter) {
    const auto dim = static_cast<size_t>((letter | 0x20) - 'a');
    PARTITA_CHECK(dim < rank, "memory format {} for {} dimensions", tag, rank);
    return dim;
  };
  BlockedFormat format;
  int64_t size = 0;
  for (const char letter : tag) {
    if (letter >= '0' && letter <= '9') {
      size = 10 * size + (letter - '0');
    } else if (size == 0) {
      format.dims.push_back(dim_of(letter));
    } else {
      format.blocks.push_back({std::exchange(size, 0), dim_of(letter)});
    }
  }
  std::vector<size_t> sorted = format.dims;
  std::sort(sorted.begin(), sorted.end());
  const bool is_each = std::unique(sorted.begin(), sorted.end()) == sorted.end();
  PARTITA_CHECK(is_each && sorted.size() == rank && size == 0, "memory format {} for {} dimensions", tag, rank);
  return format;
}

Places places_of(const Shape& shape, const std::vector<size_t>& dims, const std::vector<Block>& blocks) {
  Places places;
  for (const int64_t size : shape) places.emplace_back(static_cast<size_t>(size), 0);
  std::vector<int64_t> within(shape.size(), 1);  // indices of a dimension that its blocks further inside have
  int64_t step = 1;
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    const auto [size, dim] = *block;
    for (size_t i = 0; i < places[dim].size(); ++i) {
      places[dim][i] += static_cast<int64_t>(i) / within[dim] % size * step;
    }
    within[dim] *= size;
    step *= size;
  }
  for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
    const int64_t size = within[*dim];
    for (size_t i = 0; i < places[*dim].size(); ++i) places[*dim][i] += static_cast<int64_t>(i) / size * step;
    step *= (shape[*dim] + size - 1) / size;
  }
  return places;
}

/// Of an array whose dimensions are padded to whole blocks.
int64_t padded_elements(const Shape& shape, const std::vector<Block>& blocks) {
  std::vector<int64_t> within(shape.size(), 1);
  for (const auto& [size, dim] : blocks) within[dim] *= size;
  int64_t elements = 1;
  for (size_t d = 0; d < shape.size(); ++d) elements *= (shape[d] + within[d] - 1) / within[d] * within[d];
  return elements;
}

/// Eight rows of eight elements. Code that is written out for each of them, by the numbers that `Eight` has, keeps them
/// in registers.
using EightRows = std::array<Words, kWords>;
using Eight = std::make_index_sequence<kWords>;

/// From eight places.
template <size_t... kRow>
inline EightRows load(const Word* from, const uint32_t* places, std::index_sequence<kRow...>) {
  EightRows rows;
  (std::memcpy(&rows[kRow], from + places[kRow], sizeof rows[kRow]), ...);
  return rows;
}

/// Of two rows the pairs, or pairs of pairs, of what stands in one column.
inline Words low_ones(Words a, Words b) { return __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13); }
inline Words high_ones(Words a, Words b) { return __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15); }
inline Words low_twos(Words a, Words b) { return __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13); }
inline Words high_twos(Words a, Words b) { return __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15); }
inline Words low_fours(Words a, Words b) { return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11); }
inline Words high_fours(Words a, Words b) { return __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15); }

/// The columns.
inline EightRows transpose(const EightRows& rows) {
  const auto& [a, b, c, d, e, f, g, h] = rows;
  const Words ab = low_ones(a, b), ab2 = high_ones(a, b), cd = low_ones(c, d), cd2 = high_ones(c, d);
  const Words ef = low_ones(e, f), ef2 = high_ones(e, f), gh = low_ones(g, h), gh2 = high_ones(g, h);
  const Words abcd0 = low_twos(ab, cd), abcd1 = high_twos(ab, cd), abcd2 = low_twos(ab2, cd2),
              abcd3 = high_twos(ab2, cd2);
  const Words efgh0 = low_twos(ef, gh), efgh1 = high_twos(ef, gh), efgh2 = low_twos(ef2, gh2),
              efgh3 = high_twos(ef2, gh2);
  return {low_fours(abcd0, efgh0),  low_fours(abcd1, efgh1),  low_fours(abcd2, efgh2),  low_fours(abcd3, efgh3),
          high_fours(abcd0, efgh0), high_fours(abcd1, efgh1), high_fours(abcd2, efgh2), high_fours(abcd3, efgh3)};
}

/// Where rows go.
struct ToRows {
  Word* rows;

  void put(int64_t at, Word element) { rows[at] = element; }
  /// Sixteen elements: as much as a line of the cache has.
  void put(int64_t at, const Words& left, const Words& right) {
    std::memcpy(rows + at, &left, sizeof left);
    std::memcpy(rows + at + kWords, &right, sizeof right);
  }
};

/// Rows of floats, which are copied as they come, in whole lines of the cache. A float is not finite when all bits of
/// its exponent are set.
struct ToRowsAndCopy {
  static constexpr Word kExponent = 0x7f800000;
  ToRows to;
  Word* copy;
  Words bad{};

  void put(int64_t at, const Words& left, const Words& right) {
    to.put(at, left, right);
    store_past_cache(copy + at, &left);
    store_past_cache(copy + at + kWords, &right);
    bad |= ((left & kExponent) == kExponent) | ((right & kExponent) == kExponent);
  }
  bool are_finite() const {
    bool all = true;
    for (int64_t i = 0; i < kWords; ++i) all &= bad[i] == 0;
    return all;
  }
};

/// Sixteen elements of rows [first, last) of eight, which are `size` apart; `at` is where those of the first are.
template <class To, size_t... kRow>
inline void put_rows(To& to, int64_t at, int64_t size, int64_t first, int64_t last, const EightRows& left,
                     const EightRows& right, std::index_sequence<kRow...>) {
  const auto put = [&](int64_t row, const Words& a, const Words& b) {
    if (row >= first && row < last) to.put(at + (row - first) * size, a, b);
  };
  (put(kRow, left[kRow], right[kRow]), ...);
}

/// Loads `count` elements from their beginning to their end: that brings them to the cache several times as fast as the
/// short runs in which they are used, since processors foresee it.
void bring_to_cache(const Word* from, int64_t count) {
  Word all = 0;
  for (int64_t i = 0; i < count; i += 64 / static_cast<int64_t>(sizeof(Word))) all |= from[i];
  [[maybe_unused]] const volatile Word kept = all;
}

class BlockedRows final : public RowReader {
 public:
  BlockedRows(const Type& type, const MemoryFormat& format) : dtype_(type.dtype) {
    const std::string& tag = format.tag;
    PARTITA_CHECK(size_of(type.dtype) == sizeof(Word) && type.rank() > 0 && type.elements() > 0,
                  "{} in memory format {}", print(type), tag);
    const auto [dims, blocks] = parse_tag(tag, type.shape.size());
    Places places = places_of(type.shape, dims, blocks);
    rows_ = std::move(places[0]);
    elements_ = {0};
    for (size_t d = 1; d < places.size(); ++d) {
      const std::vector<uint32_t> outer = std::exchange(elements_, {});
      for (const uint32_t begin : outer) {
        for (const int64_t place : places[d]) {
          PARTITA_CHECK(begin + place <= std::numeric_limits<uint32_t>::max(), "{} in memory format {}", print(type),
                        tag);
          elements_.push_back(static_cast<uint32_t>(begin + place));
        }
      }
    }
    if (blocks.empty() || blocks.back().dim != 0) return;
    beside_ = blocks.back().size;
    if (dims[0] == 0 && std::count_if(blocks.begin(), blocks.end(), [](const Block& b) { return b.dim == 0; }) == 1) {
      block_ = padded_elements(type.shape, blocks) / ((type.shape[0] + beside_ - 1) / beside_);
    }
  }

  void read(const void* from, int64_t first, int64_t last, void* to) const noexcept override {
    const auto* source = static_cast<const Word*>(from);
    ToRows rows{static_cast<Word*>(to)};
    if (beside_ % kWords == 0) return read_rows(source, first, last, rows);
    for (int64_t row = first, at = 0; row < last; ++row) {
      const Word* begin = source + rows_[static_cast<size_t>(row)];
      for (const uint32_t place : elements_) rows.put(at++, begin[place]);
    }
  }

  bool read_and_copy(const void* from, int64_t first, int64_t last, void* to, void* copy) const override {
    if (dtype_ != DType::f32 || beside_ % kWords != 0 || size() * sizeof(Word) % kCacheLine != 0 ||
        reinterpret_cast<uintptr_t>(copy) % kCacheLine != 0) {
      read(from, first, last, to);
      return copy_finite(dtype_, copy, to, (last - first) * size());
    }
    ToRowsAndCopy rows{{static_cast<Word*>(to)}, static_cast<Word*>(copy)};
    read_rows(static_cast<const Word*>(from), first, last, rows);
    finish_stores_past_cache();
    return rows.are_finite();
  }

 private:
  static constexpr int64_t kElements = 128;  // of a row, one behind the other, so that their block stays in the cache
  // Elements that are brought to the cache together: so many, in whole blocks; of a larger block all, up to the second.
  static constexpr int64_t kToCache = int64_t{1} << 15, kMaxToCache = int64_t{1} << 18;

  /// Of a row.
  int64_t size() const { return static_cast<int64_t>(elements_.size()); }

  /// Rows [first, last), whose elements lie beside those of at least seven others.
  template <class To>
  void read_rows(const Word* from, int64_t first, int64_t last, To& to) const {
    // A block that `first` is in the middle of is brought by who reads its first rows.
    int64_t brought = (first + beside_ - 1) / beside_;  // blocks up to here
    for (int64_t row = first; row < last;) {
      const int64_t block = row / beside_ * beside_, end = std::min(block + beside_, last);
      if (const int64_t number = row / beside_; number == brought && block_ > 0 && block_ <= kMaxToCache) {
        brought += std::clamp<int64_t>(kToCache / block_, 1, (last + beside_ - 1) / beside_ - number);
        bring_to_cache(from + number * block_, (brought - number) * block_);
      }
      read_block(from + rows_[static_cast<size_t>(block)], row - block, end - block, (row - first) * size(), to);
      row = end;
    }
  }

  /// Rows [first, last) of those whose elements lie beside each other; `at` is where the first of them goes.
  template <class To>
  void read_block(const Word* from, int64_t first, int64_t last, int64_t at, To& to) const {
    for (int64_t begin = 0; begin < size(); begin += kElements) {
      const int64_t end = std::min(begin + kElements, size());
      for (int64_t row = first; row < last;) {
        const int64_t eight = row / kWords * kWords, next = std::min(eight + kWords, last);
        read_eight(from + eight, row - eight, next - eight, begin, end, at + (row - first) * size(), to);
        row = next;
      }
    }
  }

  /// Elements [begin, end) of rows [first, last) of eight; `at` is where the first of these rows goes.
  template <class To>
  void read_eight(const Word* from, int64_t first, int64_t last, int64_t begin, int64_t end, int64_t at, To& to) const {
    const uint32_t* places = elements_.data();
    int64_t i = begin;
    for (; i + 2 * kWords <= end; i += 2 * kWords) {
      const EightRows left = transpose(load(from, places + i, Eight())),
                      right = transpose(load(from, places + i + kWords, Eight()));
      put_rows(to, at + i, size(), first, last, left, right, Eight());
    }
    if constexpr (std::is_same_v<To, ToRows>) {  // copies have whole lines
      for (; i < end; ++i) {
        for (int64_t row = first; row < last; ++row) to.put(at + (row - first) * size() + i, from[places[i] + row]);
      }
    }
  }

  DType dtype_;
  std::vector<int64_t> rows_;       // where each row begins
  std::vector<uint32_t> elements_;  // where the elements of a row lie, from there
  int64_t beside_ = 1;              // rows whose elements lie beside each other
  int64_t block_ = 0;               // elements that so many rows have together and no other row; 0: not known
};

}  // namespace

std::unique_ptr<RowReader> make_row_reader(const Type& type, const MemoryFormat& format) {
  return std::make_unique<BlockedRows>(type, format);
}

}  // namespace partita

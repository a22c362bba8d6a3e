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

/// Elements of 4 bytes of any type, and a register of eight.
typedef int32_t Word __attribute__((may_alias));  // NOLINT(modernize-use-using): `using` drops it in templates
using Words = int32_t __attribute__((vector_size(32)));
constexpr int64_t kWords = sizeof(Words) / sizeof(Word);

/// Addresses of elements: the sum of the entries for their indices, by dimension.
using Places = std::vector<std::vector<int64_t>>;

/// A block of a memory format: `size` adjacent indices of a dimension.
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
  std::ranges::sort(sorted);
  const bool is_each = std::unique(sorted.begin(), sorted.end()) == sorted.end();
  PARTITA_CHECK(is_each && sorted.size() == rank && size == 0, "memory format {} for {} dimensions", tag, rank);
  return format;
}

Places places_of(const Shape& shape, const std::vector<size_t>& dims, const std::vector<Block>& blocks) {
  Places places;
  for (const int64_t size : shape) places.emplace_back(static_cast<size_t>(size), 0);
  std::vector<int64_t> within(shape.size(), 1);  // number of indices of a dimension in its blocks further inside
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

/// Number of elements of an array whose dimensions are padded to whole blocks.
int64_t padded_elements(const Shape& shape, const std::vector<Block>& blocks) {
  std::vector<int64_t> within(shape.size(), 1);
  for (const auto& [size, dim] : blocks) within[dim] *= size;
  int64_t elements = 1;
  for (size_t d = 0; d < shape.size(); ++d) elements *= (shape[d] + within[d] - 1) / within[d] * within[d];
  return elements;
}

/// Eight rows of eight elements. Code that is unrolled over them, by the indices of `Eight`, keeps them in registers.
using EightRows = std::array<Words, kWords>;
using Eight = std::make_index_sequence<kWords>;

/// Loads eight rows of eight adjacent elements, which begin at these places after `from`.
template <size_t... kRow>
inline EightRows load(const Word* from, const uint32_t* places, std::index_sequence<kRow...>) {
  EightRows rows;
  (std::memcpy(&rows[kRow], from + places[kRow], sizeof rows[kRow]), ...);
  return rows;
}

/// Interleave elements, pairs or groups of four of two rows: `low` those at the beginning of each half of a row, `high`
/// the others. For groups of four that is the first half of each row, and the second.
inline Words low_ones(Words a, Words b) { return __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13); }
inline Words high_ones(Words a, Words b) { return __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15); }
inline Words low_twos(Words a, Words b) { return __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13); }
inline Words high_twos(Words a, Words b) { return __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15); }
inline Words low_fours(Words a, Words b) { return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11); }
inline Words high_fours(Words a, Words b) { return __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15); }

/// Returns the columns of eight rows, as rows.
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

/// Destination of rows.
struct ToRows {
  Word* rows;

  void put(int64_t at, Word element) { rows[at] = element; }
  /// Stores sixteen elements: one cache line.
  void put(int64_t at, const Words& left, const Words& right) {
    std::memcpy(rows + at, &left, sizeof left);
    std::memcpy(rows + at + kWords, &right, sizeof right);
  }
};

/// Destination of rows of floats and of a copy, which is written in whole cache lines. A float is not finite if all
/// bits of its exponent are set.
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

/// Stores sixteen elements, eight of `left` and eight of `right`, of each of the rows [first, last) of eight. The rows
/// are `size` apart in `to`; `at` is the destination of the first one.
template <class To, size_t... kRow>
inline void put_rows(To& to, int64_t at, int64_t size, int64_t first, int64_t last, const EightRows& left,
                     const EightRows& right, std::index_sequence<kRow...>) {
  const auto put = [&](int64_t row, const Words& a, const Words& b) {
    if (row >= first && row < last) to.put(at + (row - first) * size, a, b);
  };
  (put(kRow, left[kRow], right[kRow]), ...);
}

/// Loads one element of each cache line of `count` elements, in order. That brings them to the cache several times as
/// fast as the short runs in which they are used, since processors prefetch it.
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
    adjacent_rows_ = blocks.back().size;
    if (dims[0] == 0 && std::ranges::count_if(blocks, [](const Block& b) { return b.dim == 0; }) == 1) {
      block_ = padded_elements(type.shape, blocks) / ((type.shape[0] + adjacent_rows_ - 1) / adjacent_rows_);
    }
  }

  void read(const void* from, int64_t first, int64_t last, void* to) const noexcept override {
    const auto* source = static_cast<const Word*>(from);
    ToRows rows{static_cast<Word*>(to)};
    if (adjacent_rows_ % kWords == 0) return read_rows(source, first, last, rows);
    for (int64_t row = first, at = 0; row < last; ++row) {
      const Word* begin = source + rows_[static_cast<size_t>(row)];
      for (const uint32_t place : elements_) rows.put(at++, begin[place]);
    }
  }

  bool read_and_copy(const void* from, int64_t first, int64_t last, void* to, void* copy) const override {
    if (dtype_ != DType::f32 || adjacent_rows_ % kWords != 0 || size() * sizeof(Word) % kCacheLine != 0 ||
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
  static constexpr int64_t kElements = 128;  // elements of a row at a time, so that their block stays in the cache
  // Number of elements to bring to the cache together, in whole blocks. A larger block is brought as a whole, up to
  // kMaxToCache.
  static constexpr int64_t kToCache = int64_t{1} << 15, kMaxToCache = int64_t{1} << 18;

  /// Number of elements of a row.
  int64_t size() const { return static_cast<int64_t>(elements_.size()); }

  /// Reads rows [first, last), one after another. `adjacent_rows_` must be a multiple of eight.
  template <class To>
  void read_rows(const Word* from, int64_t first, int64_t last, To& to) const {
    // If `first` is in the middle of a block, whoever reads the block's first rows brings it to the cache.
    int64_t brought = (first + adjacent_rows_ - 1) / adjacent_rows_;  // number of blocks brought so far
    for (int64_t row = first; row < last;) {
      const int64_t block = row / adjacent_rows_ * adjacent_rows_, end = std::min(block + adjacent_rows_, last);
      if (const int64_t number = row / adjacent_rows_; number == brought && block_ > 0 && block_ <= kMaxToCache) {
        brought += std::clamp<int64_t>(kToCache / block_, 1, (last + adjacent_rows_ - 1) / adjacent_rows_ - number);
        bring_to_cache(from + number * block_, (brought - number) * block_);
      }
      read_block(from + rows_[static_cast<size_t>(block)], row - block, end - block, (row - first) * size(), to);
      row = end;
    }
  }

  /// Reads rows [first, last) of the adjacent rows that begin at `from`; `at` is the destination of the first one.
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

  /// Reads elements [begin, end) of rows [first, last) of eight; `at` is the destination of the first of these rows.
  template <class To>
  void read_eight(const Word* from, int64_t first, int64_t last, int64_t begin, int64_t end, int64_t at, To& to) const {
    const uint32_t* places = elements_.data();
    int64_t i = begin;
    for (; i + 2 * kWords <= end; i += 2 * kWords) {
      const EightRows left = transpose(load(from, places + i, Eight())),
                      right = transpose(load(from, places + i + kWords, Eight()));
      put_rows(to, at + i, size(), first, last, left, right, Eight());
    }
    if constexpr (std::is_same_v<To, ToRows>) {  // copies consist of whole lines
      for (; i < end; ++i) {
        for (int64_t row = first; row < last; ++row) to.put(at + (row - first) * size() + i, from[places[i] + row]);
      }
    }
  }

  DType dtype_;
  std::vector<int64_t> rows_;       // begin of each row
  std::vector<uint32_t> elements_;  // addresses of a row's elements, relative to its begin
  int64_t adjacent_rows_ = 1;       // number of rows that are interleaved: their elements of one index are adjacent
  int64_t block_ = 0;               // number of elements of these rows together, if they are contiguous; 0: unknown
};

}  // namespace

std::unique_ptr<RowReader> make_row_reader(const Type& type, const MemoryFormat& format) {
  return std::make_unique<BlockedRows>(type, format);
}

}  // namespace partita

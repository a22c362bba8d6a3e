#include "runtime/checkpoint/strategy_file.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "runtime/checkpoint/protobuf_fields.h"
#include "runtime/checkpoint/utf32.h"

namespace partita {
namespace {

constexpr size_t kMaxStrategyNumbers = 64;  // axes, or dimensions with their axes

class StrategyReader {
 public:
  StrategyReader(std::string_view bytes, const std::string& path)
      : in_(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size())), path_(path) {}

  StrategyFile read(int bytes) {
    StrategyFile file;
    bool has_node = false;
    fields(bytes, [&](uint32_t tag) {
      if (tag == bytes_of(2) && !has_node) {
        has_node = true;
        fields(length(), [&](uint32_t part) { return part == bytes_of(2) && read_stage(file); });
      } else if (tag == bytes_of(3)) {
        file.layouts.push_back(read_layout_of());
      } else {
        return false;
      }
      return true;
    });
    if (file.layouts.empty()) fail("it has no layouts");
    return file;
  }

 private:
  static constexpr uint32_t bytes_of(uint32_t field) { return field << 3 | 2; }
  static constexpr uint32_t number_of(uint32_t field) { return field << 3; }

  [[noreturn]] void fail(const std::string& what) const {
    throw InvalidFile("[strategy] {} is not a strategy file: {}, expected one that MindSpore has written", path_, what);
  }
  int length() {
    uint32_t bytes = 0;
    if (!in_.ReadVarint32(&bytes) || bytes > static_cast<uint32_t>(std::max(0, in_.BytesUntilLimit()))) {
      fail("it is truncated or damaged");
    }
    return static_cast<int>(bytes);
  }
  int64_t number() {
    uint64_t value = 0;
    if (!in_.ReadVarint64(&value)) fail("it is truncated or damaged");
    return static_cast<int64_t>(value);
  }
  template <class Read>
  void fields(int bytes, const Read& read) {
    if (!read_fields(in_, bytes, read)) fail("it is truncated or damaged");
  }

  bool read_stage(StrategyFile& file) {
    fields(length(), [&](uint32_t tag) {
      if (tag != number_of(1)) return false;
      file.stage = number();
      return true;
    });
    return true;
  }

  /// Reads a message of numbers.
  std::vector<int64_t> numbers() {
    std::vector<int64_t> values;
    const auto add = [&] {
      if (values.size() == kMaxStrategyNumbers) fail("a list of more than 64 numbers");
      values.push_back(number());
    };
    fields(length(), [&](uint32_t tag) {
      if (tag == bytes_of(1)) {
        const auto limit = in_.PushLimit(length());
        while (in_.BytesUntilLimit() > 0) add();
        in_.PopLimit(limit);
      } else if (tag == number_of(1)) {
        add();
      } else {
        return false;
      }
      return true;
    });
    return values;
  }

  StrategyLayout read_layout_of() {
    StrategyLayout layout;
    fields(length(), [&](uint32_t tag) {
      if (tag == bytes_of(1)) {
        const int bytes = length();
        if (!in_.ReadString(&layout.name, bytes) || !is_utf8(layout.name)) fail("a name is not UTF-8");
      } else if (tag == bytes_of(2)) {
        read_layout(layout);
      } else {
        return false;
      }
      return true;
    });
    return layout;
  }

  void read_layout(StrategyLayout& layout) {
    std::vector<std::vector<int64_t>> maps;
    fields(length(), [&](uint32_t tag) {
      if (tag == bytes_of(1)) {
        layout.dev_matrix = numbers();
      } else if (tag == bytes_of(2)) {
        if (maps.size() == kMaxStrategyNumbers) fail("a list of more than 64 numbers");
        maps.push_back(numbers());
      } else if (tag == bytes_of(3)) {
        layout.param_split_shape = numbers();
      } else if (tag == number_of(5)) {
        layout.field = number();
      } else if (tag == number_of(6)) {
        layout.opt_weight_shard_step = number();
      } else if (tag == number_of(7)) {
        layout.opt_weight_shard_size = number();
      } else {
        return false;
      }
      return true;
    });
    // Several lists are the axes of each dimension, one is the axis of each.
    if (maps.size() == 1) {
      for (const int64_t axis : maps[0]) layout.tensor_map.push_back({axis});
    } else {
      std::ranges::copy_if(maps, std::back_inserter(layout.tensor_map), [](const auto& one) { return !one.empty(); });
    }
  }

  google::protobuf::io::CodedInputStream in_;
  const std::string& path_;
};

}  // namespace

StrategyFile parse_strategy_file(std::string_view bytes, const std::string& path) {
  constexpr size_t kMaxBytes = std::numeric_limits<int>::max();
  if (bytes.size() > kMaxBytes) {
    throw InvalidFile("[strategy] {} is not a strategy file: it has {} bytes, expected at most {}", path, bytes.size(),
                      kMaxBytes);
  }
  return StrategyReader(bytes, path).read(static_cast<int>(bytes.size()));
}

}  // namespace partita

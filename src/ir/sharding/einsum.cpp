// Parses the shorthand of sharding rules. Mistakes in it are bugs of Partita, so it checks instead of throwing
// InvalidArgument.

#include <algorithm>

#include "base/plain_text.h"
#include "ir/sharding/rule.h"

namespace partita {

namespace {

class EinsumReader {
 public:
  EinsumReader(std::string_view text, const OpCall& call, const std::map<char, int64_t>& sizes,
               const std::vector<Window>& windows)
      : text_(text), call_(call), sizes_(sizes), windows_(windows) {}

  ShardingRule read() {
    const size_t bar = std::min(text_.find('|'), text_.size());
    std::string tensors(text_.substr(0, bar));
    std::erase(tensors, ' ');
    const size_t arrow = tensors.find("->");
    PARTITA_CHECK(arrow != std::string::npos, "no arrow in '{}'", text_);
    rule_.inputs = read_tensors(tensors.substr(0, arrow), call_.inputs);
    rule_.outputs = read_tensors(tensors.substr(arrow + 2), call_.outputs);
    PARTITA_CHECK(next_window_ == windows_.size(), "'{}' has {} windows, got {}", text_, next_window_, windows_.size());
    solve();
    if (bar < text_.size()) read_modifiers(text_.substr(bar + 1));
    set_default_reductions();
    return std::move(rule_);
  }

 private:
  static constexpr int64_t kUnknown = -1;

  int factor(char name) {
    PARTITA_CHECK(is_letter(name), "'{}' in '{}' is not a factor", name, text_);
    for (size_t f = 0; f < rule_.factors.size(); ++f) {
      if (rule_.factors[f].name == name) return static_cast<int>(f);
    }
    rule_.factors.push_back({.name = name, .size = kUnknown});
    return static_cast<int>(rule_.factors.size()) - 1;
  }

  std::vector<TensorMap> read_tensors(const std::string& text, const std::vector<Type>& types) {
    std::vector<TensorMap> maps;
    if (types.empty() && text.empty()) return maps;
    size_t begin = 0;
    while (true) {
      const size_t comma = std::min(text.find(',', begin), text.size());
      PARTITA_CHECK(maps.size() < types.size(), "'{}' has more than {} tensors", text_, types.size());
      maps.push_back(read_tensor(text.substr(begin, comma - begin), types[maps.size()].shape.size()));
      if (comma == text.size()) break;
      begin = comma + 1;
    }
    PARTITA_CHECK(maps.size() == types.size(), "'{}' has {} tensors, expected {}", text_, maps.size(), types.size());
    return maps;
  }

  TensorMap read_tensor(std::string text, size_t rank) {
    TensorMap map;
    if (text.starts_with("..")) {
      text.erase(0, 2);
      const size_t named = count_dims(text);
      PARTITA_CHECK(named <= rank, "'{}' in '{}' does not fit {} dimensions", text, text_, rank);
      map = batch_dims(rank - named);
    }
    for (size_t at = 0; at < text.size();) map.push_back(read_dim(text, at));
    PARTITA_CHECK(map.size() == rank, "'{}' in '{}' does not have {} dimensions", text, text_, rank);
    return map;
  }

  static size_t count_dims(const std::string& text) {
    size_t count = 0;
    bool inside = false;
    for (char c : text) {
      if (!inside) ++count;
      if (c == '(' || c == '[' || c == '<') inside = true;
      if (c == ')' || c == ']' || c == '>') inside = false;
    }
    return count;
  }

  DimMap read_dim(const std::string& text, size_t& at) {
    const char first = text[at++];
    if (first == '1') return {};
    if (first != '(' && first != '[' && first != '<') return {{factor(first)}, std::nullopt};
    const char closing = first == '(' ? ')' : first == '[' ? ']' : '>';
    const size_t end = text.find(closing, at);
    PARTITA_CHECK(end != std::string::npos && end > at, "'{}' is not closed in '{}'", first, text_);
    DimMap dim;
    for (; at < end; ++at) dim.factors.push_back(factor(text[at]));
    ++at;
    if (first != '(') {
      PARTITA_CHECK(next_window_ < windows_.size() && dim.factors.size() == 1, "window of '{}'", text_);
      dim.window = windows_[next_window_++];
      dim.window->transposed = first == '<';
    }
    return dim;
  }

  /// Returns the dimensions that `..` stands for, with the same letters in every tensor. Throws InternalError if
  /// another tensor has another number of them, or letters run out.
  TensorMap batch_dims(size_t count) {
    if (!batch_) {
      batch_.emplace();
      for (char name = 'A'; name <= 'Z' && batch_->size() < count; ++name) {
        if (text_.substr(0, text_.find('|')).find(name) == std::string_view::npos) {
          batch_->push_back({{factor(name)}, std::nullopt});
        }
      }
    }
    PARTITA_CHECK(batch_->size() == count, "'..' of '{}' stands for {} and {} dimensions", text_, batch_->size(),
                  count);
    return *batch_;
  }

  void set_size(int index, int64_t size) {
    Factor& factor = rule_.factors[index];
    PARTITA_CHECK(factor.size == kUnknown || factor.size == size, "'{}': {} is {} and {}", text_, factor.name,
                  factor.size, size);
    factor.size = size;
  }

  template <class Fn>
  void for_dims(Fn&& fn) {
    const auto each = [&](const std::vector<TensorMap>& maps, const std::vector<Type>& types) {
      for (size_t i = 0; i < maps.size(); ++i) {
        for (size_t d = 0; d < maps[i].size(); ++d) {
          if (!maps[i][d].window) fn(maps[i][d], types[i].shape[d]);
        }
      }
    };
    each(rule_.inputs, call_.inputs);
    each(rule_.outputs, call_.outputs);
  }

  void solve() {
    for (const auto& [name, size] : sizes_) set_size(factor(name), size);
    for_dims([&](const DimMap& dim, int64_t size) {
      if (dim.factors.size() == 1) set_size(dim.factors[0], size);
    });
    // Each round solves at least one unknown, or no more can be solved.
    for (size_t round = 0; round < rule_.factors.size(); ++round) {
      for_dims([&](const DimMap& dim, int64_t size) { solve(dim, size); });
    }
    for (const Factor& factor : rule_.factors) {
      PARTITA_CHECK(factor.size != kUnknown, "'{}': the size of {} is unknown", text_, factor.name);
    }
    for_dims([&](const DimMap& dim, int64_t size) {
      int64_t product = 1;
      for (int index : dim.factors) product *= rule_.factors[index].size;
      PARTITA_CHECK(product == size, "'{}': a dimension of {} has factors of {}", text_, size, product);
    });
  }

  void solve(const DimMap& dim, int64_t size) {
    int64_t known = 1;
    int unknown = -1, unknowns = 0;
    for (int index : dim.factors) {
      if (rule_.factors[index].size != kUnknown) {
        known *= rule_.factors[index].size;
      } else {
        unknown = index;
        ++unknowns;
      }
    }
    if (unknowns == 1) set_size(unknown, known == 0 ? 1 : size / known);
  }

  void read_modifiers(std::string_view modifiers) {
    size_t at = 0;
    while ((at = modifiers.find_first_not_of(' ', at)) != std::string_view::npos) {
      const size_t end = std::min(modifiers.find(' ', at), modifiers.size());
      const std::string_view modifier = modifiers.substr(at, end - at);
      PARTITA_CHECK(modifier.size() > 2 && modifier[1] == ':', "modifier '{}' of '{}'", modifier, text_);
      const auto found =
          std::ranges::find_if(rule_.factors, [&](const Factor& factor) { return factor.name == modifier[0]; });
      PARTITA_CHECK(found != rule_.factors.end(), "modifier '{}' of '{}' names no factor", modifier, text_);
      set_modifier(*found, modifier.substr(2));
      at = end;
    }
  }

  void set_modifier(Factor& factor, std::string_view modifier) {
    if (modifier == "whole") {
      factor.cutting = Cutting::whole;
    } else if (modifier == "expand") {
      factor.cutting = Cutting::expand;
    } else if (modifier == "lookup") {
      factor.reduce = Reduce::sum;
      factor.contributes_flops = false;
    } else if (modifier == "no_flops") {
      factor.contributes_flops = false;
    } else {
      const std::optional<Reduce> reduce = parse_reduce(modifier);
      PARTITA_CHECK(reduce.has_value(), "unknown modifier '{}' in '{}'", modifier, text_);
      factor.reduce = *reduce;
    }
  }

  void set_default_reductions() {
    for (size_t f = 0; f < rule_.factors.size(); ++f) {
      Factor& factor = rule_.factors[f];
      if (factor.cutting != Cutting::free || factor.reduce != Reduce::none) continue;
      for (const TensorMap& output : rule_.outputs) {
        const bool has = std::ranges::any_of(output, [&](const DimMap& dim) {
          return std::ranges::find(dim.factors, static_cast<int>(f)) != dim.factors.end();
        });
        if (!has) factor.reduce = Reduce::sum;
      }
    }
  }

  std::string_view text_;
  const OpCall& call_;
  const std::map<char, int64_t>& sizes_;
  const std::vector<Window>& windows_;
  ShardingRule rule_;
  std::optional<TensorMap> batch_;
  size_t next_window_ = 0;
};

}  // namespace

ShardingRule einsum(std::string_view text, const OpCall& call, const std::map<char, int64_t>& sizes,
                    const std::vector<Window>& windows) {
  return EinsumReader(text, call, sizes, windows).read();
}

}  // namespace partita

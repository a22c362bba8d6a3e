#include "base/attrs.h"

#include <algorithm>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace partita {

std::string Attrs::print() const {
  std::string text;
  for (const auto& [name, value] : texts()) {
    text += (text.empty() ? "" : ", ") + name + "=" + value;
  }
  return text.empty() ? "" : "{" + text + "}";
}

bool Attrs::same_type(const Attrs& other) const {
  if (!holder_ || !other.holder_) return holder_ == other.holder_;
  const Base &a = *holder_, &b = *other.holder_;
  return typeid(a) == typeid(b);
}

Attrs Attrs::with(const FieldTexts& changes) const {
  if (changes.empty()) return *this;
  if (!holder_) unknown(changes.front().first, {});
  Attrs result;
  result.holder_ = holder_->with(changes);
  return result;
}

Attrs Attrs::parse(std::string_view text) const {
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') {
    throw InvalidArgument("[attribute] not a list of attributes, got '{}', expected {{name=value, ...}}", text);
  }
  FieldTexts changes;
  const std::string list = "[" + std::string(text.substr(1, text.size() - 2)) + "]";
  for (std::string_view item : split_list(list)) {
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      throw InvalidArgument("[attribute] an attribute has no value, got '{}', expected name=value", item);
    }
    const std::string name(item.substr(0, equals));
    const bool again = std::ranges::any_of(changes, [&](const auto& known) { return known.first == name; });
    if (again) throw InvalidArgument("[attribute] given twice, got '{}', expected it once", name);
    changes.emplace_back(name, item.substr(equals + 1));
  }
  return with(changes);
}

uint64_t Attrs::hash() const {
  const std::string text = print();
  return XXH3_64bits(text.data(), text.size());
}

void Attrs::unknown(const std::string& name, const std::vector<std::string>& names) {
  throw unknown_name("[attribute] unknown attribute", name, fmt::format("one of [{}]", fmt::join(names, ", ")), names);
}

}  // namespace partita

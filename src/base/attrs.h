#pragma once
// Attributes of an op: an immutable, shared, type-erased struct with a field list (base/fields.h).

#include <memory>
#include <typeinfo>
#include <utility>

#include "base/fields.h"

namespace partita {

/// (name, text) of each field, the one path for printing, equality and hashing.
using FieldTexts = std::vector<std::pair<std::string, std::string>>;

class Attrs {
 public:
  /// No attributes.
  Attrs() = default;
  template <class T>
  requires requires { T::fields(); }
  Attrs(T value) : holder_(std::make_shared<Holder<T>>(std::move(value))) {}  // NOLINT: a value

  template <class T>
  const T& as() const {
    const auto* holder = dynamic_cast<const Holder<T>*>(holder_.get());
    PARTITA_CHECK(holder != nullptr, "attributes are not {}", typeid(T).name());
    return holder->value;
  }

  bool empty() const { return holder_ == nullptr; }
  /// The same for copies of one value, which share what they hold; equal values may have several.
  const void* identity() const { return holder_.get(); }
  /// Whether both are of one struct, or both have none.
  bool same_type(const Attrs& other) const;
  FieldTexts texts() const { return holder_ ? holder_->texts() : FieldTexts{}; }
  /// "{axis=1, keep=true}", or "" without fields.
  std::string print() const;
  /// This value with the named fields changed; an unknown name throws and suggests the nearest.
  Attrs with(const FieldTexts& changes) const;
  /// Reads what `print` writes; fields not named keep this value's.
  Attrs parse(std::string_view text) const;
  uint64_t hash() const;
  bool operator==(const Attrs& other) const { return texts() == other.texts(); }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual FieldTexts texts() const = 0;
    virtual std::shared_ptr<const Base> with(const FieldTexts& changes) const = 0;
  };

  template <class T>
  struct Holder final : Base {
    explicit Holder(T initial) : value(std::move(initial)) {}
    FieldTexts texts() const override {
      FieldTexts texts;
      std::apply([&](const auto&... f) { (texts.emplace_back(f.name, to_text(value.*f.member)), ...); }, T::fields());
      return texts;
    }
    std::shared_ptr<const Base> with(const FieldTexts& changes) const override {
      T changed = value;
      std::vector<std::string> names;
      std::apply([&](const auto&... f) { (names.emplace_back(f.name), ...); }, T::fields());
      for (const auto& change : changes) {
        bool found = false;
        const auto set = [&](const auto& f) {
          if (f.name != change.first) return;
          from_text(change.second, changed.*f.member);
          found = true;
        };
        std::apply([&](const auto&... f) { (set(f), ...); }, T::fields());
        if (!found) unknown(change.first, names);
      }
      return std::make_shared<Holder<T>>(std::move(changed));
    }
    T value;
  };

  [[noreturn]] static void unknown(const std::string& name, const std::vector<std::string>& names);

  std::shared_ptr<const Base> holder_;
};

}  // namespace partita

#pragma once
// Attributes of an op: an immutable, shared, type-erased struct with a field list (base/fields.h).

#include <memory>
#include <typeinfo>
#include <utility>

#include "base/fields.h"

namespace partita {

/// (name, text) per field. Printing, equality and hashing all use it.
using FieldTexts = std::vector<std::pair<std::string, std::string>>;

/// The attributes of one op: a struct of any type with a field list, or none. Copies share the struct.
class Attrs {
 public:
  /// Makes empty attributes.
  Attrs() = default;
  template <class T>
  requires requires { T::fields(); }
  Attrs(T value) : holder_(std::make_shared<Holder<T>>(std::move(value))) {}  // NOLINT: a value

  /// Returns the struct, which lives as long as a copy of these attributes. Throws InternalError if it is not a T.
  template <class T>
  const T& as() const {
    const auto* holder = dynamic_cast<const Holder<T>*>(holder_.get());
    PARTITA_CHECK(holder != nullptr, "attributes are not {}", typeid(T).name());
    return holder->value;
  }

  /// Whether there is no struct.
  bool empty() const { return holder_ == nullptr; }
  /// Returns a pointer that is the same for all copies of one value. Equal values made separately may have different
  /// ones. Null if there is no struct.
  const void* identity() const { return holder_.get(); }
  /// Whether both hold structs of the same type, or both are empty.
  bool same_type(const Attrs& other) const;
  FieldTexts texts() const { return holder_ ? holder_->texts() : FieldTexts{}; }
  /// Returns "{axis=1, keep=true}", or "" if there are no fields.
  std::string print() const;
  /// Returns a copy with the named fields changed. Throws InvalidArgument for an unknown name, with the nearest as a
  /// suggestion, and for a value that does not parse.
  Attrs with(const FieldTexts& changes) const;
  /// Returns a copy with the fields that `text` names, as `print` writes them, changed; "{}" changes none. Throws
  /// InvalidArgument for any other text ("" included), unknown names, names given twice and values that do not parse.
  Attrs parse(std::string_view text) const;
  /// Returns a 64-bit hash of the printed text.
  uint64_t hash() const;
  /// Whether the fields have the same names and texts. The types of the structs are not compared.
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

#pragma once
// One list of fields per attribute struct. Printing, parsing, equality and hashing follow from it.
//
//   struct ConcatAttrs {
//     int64_t axis = 0;
//     static constexpr auto fields() { return std::tuple{field("axis", &ConcatAttrs::axis)}; }
//   };
//
// Field types: int64_t, double, bool, std::string, DType, std::optional<DType>, Reduce, and vectors of these.

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "base/dtype.h"
#include "base/reduce.h"

namespace partita {

/// A member of an attribute struct with its name in texts.
template <class Struct, class Member>
struct Field {
  std::string_view name;
  Member Struct::*member;
};

template <class Struct, class Member>
constexpr Field<Struct, Member> field(std::string_view name, Member Struct::*member) {
  return {name, member};
}

/// Returns the text of a field value. `from_text` reads it back. A string may not contain '"' if it is to be read back
/// from a list.
std::string to_text(int64_t value);
std::string to_text(double value);  // shortest form that reads back exactly
std::string to_text(bool value);
std::string to_text(const std::string& value);  // quoted
std::string to_text(DType value);
std::string to_text(std::optional<DType> value);  // "none" if there is none
std::string to_text(Reduce value);
/// Sets `value` to the one that `text` states, as `to_text` writes it; a double may be written in any decimal form.
/// Throws InvalidArgument for any other text, and for a number that the type cannot hold.
void from_text(std::string_view text, int64_t& value);
void from_text(std::string_view text, double& value);
void from_text(std::string_view text, bool& value);
void from_text(std::string_view text, std::string& value);
void from_text(std::string_view text, DType& value);
void from_text(std::string_view text, std::optional<DType>& value);
void from_text(std::string_view text, Reduce& value);

/// Returns the elements of "[a,b,[c,d]]" at the outer level: "a", "b" and "[c,d]", as parts of `text`; none for "[]".
/// Throws InvalidArgument if the text is not a list in brackets or its brackets or quotes do not match.
std::vector<std::string_view> split_list(std::string_view text);

template <class T>
std::string to_text(const std::vector<T>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ",";
    text += to_text(static_cast<const T&>(values[i]));
  }
  return text + "]";
}

template <class T>
void from_text(std::string_view text, std::vector<T>& values) {
  values.clear();
  for (std::string_view item : split_list(text)) {
    T value{};
    from_text(item, value);
    values.push_back(std::move(value));
  }
}

}  // namespace partita

#pragma once
// Enumerations whose values have names, as written in flags, configurations, attributes and text forms.
//
//   enum class Loss { sparse, mse };
//   constexpr auto value_names(Loss) { return names("sparse", "mse"); }

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace partita {

template <class... Texts>
constexpr auto names(Texts... texts) {
  return std::array<std::string_view, sizeof...(Texts)>{texts...};
}

/// An enumeration next to which `value_names` returns its names.
template <class Enum>
concept Named = std::is_enum_v<Enum> && requires(Enum value) {
  value_names(value);
};

/// The names of the values 0, 1, .. of an enumeration.
template <Named Enum>
inline constexpr auto kNames = value_names(Enum{});

template <Named Enum>
constexpr std::string_view name_of(Enum value) {
  return kNames<Enum>[static_cast<size_t>(value)];
}

/// Returns the names of all values, in their order.
template <Named Enum>
std::vector<std::string> names_of() {
  return {kNames<Enum>.begin(), kNames<Enum>.end()};
}

/// Returns the position of `text` in `names`. If it is not one of them, throws InvalidArgument "[where] unknown name,
/// got ..", with the nearest name as a suggestion.
size_t position_of_name(std::string_view where, std::string_view text, const std::vector<std::string>& names);

/// Returns the value called `text`. Throws InvalidArgument that begins with "[where]" and suggests the nearest name if
/// there is none.
template <Named Enum>
Enum parse_name(std::string_view where, std::string_view text) {
  return static_cast<Enum>(position_of_name(where, text, names_of<Enum>()));
}

}  // namespace partita

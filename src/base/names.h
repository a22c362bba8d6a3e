#pragma once
// Enumerations whose values have names: what flags, configurations, attributes and text forms call them.
//
//   enum class Loss { sparse, mse };
//   template <>
//   inline constexpr auto kNames<Loss> = names("sparse", "mse");

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace partita {

/// The names of the values 0, 1, .. of an enumeration; specialised next to it.
template <class Enum>
inline constexpr std::array<std::string_view, 0> kNames{};

template <class... Texts>
constexpr auto names(Texts... texts) {
  return std::array<std::string_view, sizeof...(Texts)>{texts...};
}

template <class Enum>
inline constexpr bool kHasNames = !kNames<Enum>.empty();
template <class Enum>
concept Named = std::is_enum_v<Enum> && kHasNames<Enum>;

template <Named Enum>
constexpr std::string_view name_of(Enum value) {
  return kNames<Enum>[static_cast<size_t>(value)];
}

template <Named Enum>
std::vector<std::string> names_of() {
  return {kNames<Enum>.begin(), kNames<Enum>.end()};
}

/// The position of `text` among `names`. Throws InvalidArgument with the nearest name: "[where] unknown name, got ..".
size_t position_of_name(std::string_view where, std::string_view text, const std::vector<std::string>& names);

/// The value called `text`; throws InvalidArgument, which begins with "[where]" and suggests the nearest name.
template <Named Enum>
Enum parse_name(std::string_view where, std::string_view text) {
  return static_cast<Enum>(position_of_name(where, text, names_of<Enum>()));
}

}  // namespace partita

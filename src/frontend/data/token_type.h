#pragma once
// How token ids are stored in files.

#include <cstdint>

#include "base/names.h"

namespace partita {

enum class TokenType { u8, u16, u32, i32, i64 };
constexpr auto value_names(TokenType) { return names("u8", "u16", "u32", "i32", "i64"); }

/// Calls `action` with a zero of the type.
template <class Action>
decltype(auto) for_token_type(TokenType type, Action&& action) {
  switch (type) {
    case TokenType::u8: return action(uint8_t{0});
    case TokenType::u16: return action(uint16_t{0});
    case TokenType::u32: return action(uint32_t{0});
    case TokenType::i32: return action(int32_t{0});
    case TokenType::i64: break;
  }
  return action(int64_t{0});
}

/// Number of bytes of one id.
inline int64_t width_of(TokenType type) {
  return for_token_type(type, [](auto zero) { return static_cast<int64_t>(sizeof(zero)); });
}

}  // namespace partita

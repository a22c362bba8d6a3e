#pragma once
// Refusals of wrong texts and calls, for tests.

#include <gtest/gtest.h>

#include <concepts>
#include <string>

#include "base/error.h"

namespace partita {

/// Returns the message of the error that a call of `function` throws, "accepted" if it throws none.
template <class Failure = InvalidArgument, std::invocable Function>
std::string refusal_of(const Function& function) {
  try {
    function();
  } catch (const Failure& error) {
    return error.what();
  }
  return "accepted";
}

/// Returns the text with the first `from` replaced. The test fails if there is none.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "no '" << from << "' in\n" << text;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

}  // namespace partita

#pragma once
// Types of a program's arguments and results, read from its text: all that a plugin without a compiler needs.

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/pjrt/c_api.h"

namespace partita::pjrt {

/// Returns the bytes of an element of an ElementType.
inline size_t test_bytes_of(int type) {
  switch (static_cast<ElementType>(type)) {
    case ElementType::pred:
    case ElementType::u8: return 1;
    case ElementType::f16:
    case ElementType::bf16: return 2;
    case ElementType::s64:
    case ElementType::f64: return 8;
    default: return 4;
  }
}

/// A result of a program.
struct TestResult {
  int type = 0;
  std::vector<int64_t> dims;
  int argument = -1;  // the argument whose place it takes, or -1

  size_t bytes() const {
    size_t count = test_bytes_of(type);
    for (const int64_t size : dims) count *= static_cast<size_t>(size);
    return count;
  }
  /// Writes a number into each element of a float of 32 or 64 bits, `integer` into those of i64, and a 1 into others.
  void fill(std::vector<char>& to, double number, int64_t integer) const {
    const auto repeat = [&](auto one) {
      for (size_t at = 0; at < to.size(); at += sizeof(one)) std::memcpy(to.data() + at, &one, sizeof(one));
    };
    switch (static_cast<ElementType>(type)) {
      case ElementType::f64: return repeat(number);
      case ElementType::f32: return repeat(static_cast<float>(number));
      case ElementType::s64: return repeat(integer);
      case ElementType::f16: return repeat(uint16_t{0x3C00});
      case ElementType::bf16: return repeat(uint16_t{0x3F80});
      case ElementType::pred:
      case ElementType::u8: return repeat(uint8_t{1});
      default: return repeat(int32_t{1});
    }
  }
};

struct TestProgramTypes {
  bool is_known = false;  // false: the text is none of ours
  std::vector<TestResult> results;
};

/// Reads "tensor<2x3xf32>". Returns no dimensions and type 0 for others.
inline TestResult test_type(std::string_view text) {
  static const std::map<std::string_view, ElementType> names{
      {"f64", ElementType::f64}, {"f32", ElementType::f32}, {"bf16", ElementType::bf16}, {"f16", ElementType::f16},
      {"i64", ElementType::s64}, {"i32", ElementType::s32}, {"ui8", ElementType::u8},    {"ui16", ElementType::u16},
      {"i8", ElementType::s8},   {"i16", ElementType::s16}, {"ui32", ElementType::u32},  {"i1", ElementType::pred}};
  TestResult result;
  text.remove_prefix(std::string_view("tensor<").size());
  for (size_t x = text.find('x'); x != std::string_view::npos; x = text.find('x')) {
    result.dims.push_back(std::stoll(std::string(text.substr(0, x))));
    text.remove_prefix(x + 1);
  }
  result.type = static_cast<int>(names.at(text.substr(0, text.find('>'))));
  return result;
}

/// Returns the types of the function "main" of a module that `module_text` (compiler/emit/emit_node.h) has made.
inline TestProgramTypes test_program_types(std::string_view text) {
  TestProgramTypes types;
  const size_t begin = text.find("@main("), arrow = text.find(") -> (");
  if (begin == std::string_view::npos || arrow == std::string_view::npos) return types;
  types.is_known = true;
  std::string_view results = text.substr(arrow, text.find('\n', arrow) - arrow);
  for (size_t at = results.find("tensor<"); at != std::string_view::npos; at = results.find("tensor<", at + 1)) {
    types.results.push_back(test_type(results.substr(at, results.find('>', at) + 1 - at)));
  }
  const std::string_view parameters = text.substr(begin, arrow - begin);
  int argument = -1;
  for (size_t at = parameters.find('%'); at != std::string_view::npos; at = parameters.find('%', at + 1)) {
    ++argument;
    constexpr std::string_view kTakes = "tf.aliasing_output = ";
    const std::string_view one = parameters.substr(at, parameters.find('%', at + 1) - at);
    const size_t takes = one.find(kTakes);
    if (takes == std::string_view::npos) continue;
    types.results.at(std::stoul(std::string(one.substr(takes + kTakes.size())))).argument = argument;
  }
  return types;
}

}  // namespace partita::pjrt

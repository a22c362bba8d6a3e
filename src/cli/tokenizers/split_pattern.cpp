#define PCRE2_CODE_UNIT_WIDTH 8
#include "cli/tokenizers/split_pattern.h"

#include <pcre2.h>

#include <new>

#include "base/error.h"

namespace partita {
namespace {

// PCRE2 counts U+180E, which left the property White_Space in Unicode 6.3, as white space.
constexpr std::string_view kWhiteSpace =
    "\\x{09}-\\x{0d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}";

[[noreturn]] void refuse_pattern(const std::string& expression, std::string_view got) {
  throw InvalidArgument(
      "[tokenizer] pattern not supported, got {} in '{}', expected \\s, \\S, \\d, \\p{{..}} and the "
      "like",
      got, expression);
}

/// Returns an expression of Oniguruma in the syntax of PCRE2.
std::string translated(const std::string& expression) {
  std::string result;
  bool is_in_class = false;
  for (size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    const char next = i + 1 < expression.size() ? expression[i + 1] : '\0';
    if (c == '\\') {
      if (std::string_view("wWbBhHXRKGzZA").find(next) != std::string_view::npos && next != '\0') {
        refuse_pattern(expression, fmt::format("\\{}", next));
      }
      ++i;
      if (next == 's') {
        result += is_in_class ? std::string(kWhiteSpace) : fmt::format("[{}]", kWhiteSpace);
      } else if (next == 'S' && !is_in_class) {
        result += fmt::format("[^{}]", kWhiteSpace);
      } else {
        result += {c, next};
      }
      continue;
    }
    if (is_in_class && c == '[') refuse_pattern(expression, "a class in a class");
    if (is_in_class && c == '&' && next == '&') refuse_pattern(expression, "&&");
    if (!is_in_class && c == '[') {
      is_in_class = true;
    } else if (is_in_class && c == ']') {
      is_in_class = false;
    }
    result += c;
  }
  return result;
}

}  // namespace

struct SplitPattern::Compiled {
  pcre2_code* code = nullptr;
  pcre2_match_data* data = nullptr;
  pcre2_match_context* context = nullptr;
  pcre2_jit_stack* stack = nullptr;
  bool is_jit = false;

  Compiled() = default;
  Compiled& operator=(Compiled&&) = delete;
  ~Compiled() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
    pcre2_code_free(code);
  }
};

SplitPattern::SplitPattern(const std::string& expression) : compiled_(std::make_unique<Compiled>()) {
  constexpr size_t kMaxPattern = 1 << 16;
  if (expression.size() > kMaxPattern) refuse_pattern(expression, fmt::format("{} bytes", expression.size()));
  const std::string pattern = translated(expression);
  int error = 0;
  size_t offset = 0;
  compiled_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                  PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr);
  if (compiled_->code == nullptr) {
    if (error == PCRE2_ERROR_NOMEMORY) throw std::bad_alloc();
    PCRE2_UCHAR text[128] = {};
    pcre2_get_error_message(error, text, sizeof text);
    throw InvalidArgument("[tokenizer] wrong pattern, got '{}', expected a regular expression: {}", expression,
                          reinterpret_cast<const char*>(text));
  }
  compiled_->data = pcre2_match_data_create_from_pattern(compiled_->code, nullptr);
  compiled_->context = pcre2_match_context_create(nullptr);
  if (compiled_->data == nullptr || compiled_->context == nullptr) throw std::bad_alloc();
  constexpr uint32_t kMaxSteps = 10'000'000, kMaxHeapKib = 64 << 10;
  pcre2_set_match_limit(compiled_->context, kMaxSteps);
  pcre2_set_heap_limit(compiled_->context, kMaxHeapKib);
  compiled_->is_jit = pcre2_jit_compile(compiled_->code, PCRE2_JIT_COMPLETE) == 0;
  if (!compiled_->is_jit) return;
  compiled_->stack = pcre2_jit_stack_create(32 << 10, 4 << 20, nullptr);
  if (compiled_->stack == nullptr) throw std::bad_alloc();
  pcre2_jit_stack_assign(compiled_->context, nullptr, compiled_->stack);
}

SplitPattern::~SplitPattern() = default;

void SplitPattern::for_each(std::string_view text, const std::function<void(size_t, size_t)>& match) const {
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  for (size_t at = 0; at < text.size();) {
    const int found =
        pcre2_match(compiled_->code, subject, text.size(), at, PCRE2_NO_UTF_CHECK, compiled_->data, compiled_->context);
    if (found == PCRE2_ERROR_NOMATCH) return;
    if (found < 0) {
      PCRE2_UCHAR reason[128] = {};
      pcre2_get_error_message(found, reason, sizeof reason);
      throw InvalidFile("[tokenizer] a pattern fails at byte {} of a text, got '{}', expected a match or none", at,
                        reinterpret_cast<const char*>(reason));
    }
    const size_t* ends = pcre2_get_ovector_pointer(compiled_->data);
    const size_t begin = ends[0], end = ends[1];
    if (end > begin) match(begin, end);
    at = end;
    if (end > begin) continue;
    ++at;  // past one character after an empty match
    while (at < text.size() && (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80) ++at;
  }
}

std::string escaped_expression(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (std::string_view("\\^$.[]|()?*+{}-#&").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

}  // namespace partita

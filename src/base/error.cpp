#include "base/error.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/plain_text.h"

namespace partita {
namespace {

/// Returns the smallest number of insertions, deletions, substitutions and swaps of adjacent bytes that turn `a` into
/// `b` (optimal string alignment; Damerau, 1964).
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, last(b.size() + 1), row(b.size() + 1);  // rows of the table: two back, previous, current
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({last[j] + (a[i] == b[j] ? 0 : 1), row[j] + 1, last[j + 1] + 1});
      const bool are_exchanged = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
      if (are_exchanged) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
  }
  return row.back();
}

/// Returns the largest edit distance at which two names still count as near. Kept small so that a short name is not
/// taken for another.
size_t max_edits(std::string_view name) { return name.size() <= 4 ? 1 : name.size() / 2; }

constexpr size_t kMaxValue = 160;     // bytes of a value that is shown in full
constexpr size_t kShownValue = 80;    // bytes shown of a longer value
constexpr size_t kMinBeginning = 3;   // bytes of a name of which a candidate may be the longer form
constexpr size_t kMaxMessage = 4000;  // bytes of a whole message
constexpr std::string_view kAfterQuote = " ,.:;)]?!";
constexpr std::string_view kAfterWord = ",.:;)?!";

/// Returns the position after the value in single quotes that begins at `begin`, or npos if none does. The first quote
/// may not follow a letter or digit; the last stands before a space, punctuation or the end of the text.
size_t end_of_quoted(std::string_view text, size_t begin) {
  if (text[begin] != '\'' || (begin > 0 && is_letter_or_digit(text[begin - 1]))) {
    return std::string_view::npos;
  }
  for (size_t end = text.find('\'', begin + 1); end != std::string_view::npos; end = text.find('\'', end + 1)) {
    if (end + 1 == text.size() || kAfterQuote.find(text[end + 1]) != std::string_view::npos) return end + 1;
  }
  return std::string_view::npos;
}

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0u) == 0x80u; }

size_t characters_of(std::string_view text) {
  return text.size() - static_cast<size_t>(std::ranges::count_if(text, continues_character));
}

/// Returns the first `count` bytes of a longer text, or fewer so that no UTF-8 character is cut.
std::string_view beginning_of(std::string_view text, size_t count) {
  while (count > 0 && continues_character(text[count])) --count;
  return text.substr(0, count);
}

void append_shortened(std::string& out, std::string_view value, std::string_view quote) {
  if (value.size() <= kMaxValue) {
    out += quote;
    out += value;
    out += quote;
  } else {
    out += fmt::format("{0}{1}...{0} ({2} characters)", quote, beginning_of(value, kShownValue), characters_of(value));
  }
}

}  // namespace

std::string shortened(std::string_view message) {
  std::string out;
  for (size_t at = 0; at < message.size();) {
    if (message[at] == ' ') {
      out += message[at++];
    } else if (const size_t end = end_of_quoted(message, at); end != std::string_view::npos) {
      append_shortened(out, message.substr(at + 1, end - at - 2), "'");
      at = end;
    } else {
      const size_t end_of_word = std::min(message.find(' ', at), message.size());
      size_t last = end_of_word;  // trailing punctuation is not part of the word
      while (last > at + 1 && kAfterWord.find(message[last - 1]) != std::string_view::npos) --last;
      append_shortened(out, message.substr(at, last - at), "");
      out += message.substr(last, end_of_word - last);
      at = end_of_word;
    }
  }
  std::ranges::replace(out, '\0', '?');  // '\0' would end what()
  if (out.size() <= kMaxMessage) return out;
  return fmt::format("{}... ({} characters)", beginning_of(out, kMaxMessage / 2), characters_of(message));
}

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  std::string best;
  if (name.size() >= kMinBeginning) {
    for (const std::string& candidate : candidates) {
      if (candidate.starts_with(name) && (best.empty() || candidate.size() < best.size())) best = candidate;
    }
    if (!best.empty()) return best;
  }
  size_t best_distance = max_edits(name) + 1;
  for (const std::string& candidate : candidates) {
    // The difference of the lengths bounds the distance from below, and texts of files may be long.
    const size_t lengths = std::max(name.size(), candidate.size()) - std::min(name.size(), candidate.size());
    if (lengths >= best_distance) continue;
    const size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string best = nearest(name, candidates);
  return best.empty() ? "" : fmt::format(", did you mean '{}'?", best);
}

InvalidArgument unknown_name(std::string_view what, std::string_view name, std::string_view expected,
                             const std::vector<std::string>& names, ErrorKind kind) {
  return InvalidArgument(kind, "{}, got '{}', expected {}{}", what, name, expected, did_you_mean(name, names));
}

InternalError::InternalError(const char* file, int line, const char* condition, const std::string& message)
    : Error(ErrorKind::runtime, ExitCode::internal,
            formatted("[{}:{}] internal check failed: {}: {}", file, line, condition, message)),
      detail_(shortened(message)) {}

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  throw InternalError(file, line, condition, message);
}

void require_consistent(std::string_view where, const std::function<void()>& check) {
  const auto refuse = [&](std::string_view what) {
    throw InvalidArgument("[{}] the parts do not fit together: {}", where, what);
  };
  try {
    check();
  } catch (const InternalError& error) {
    refuse(error.detail());
  } catch (const Error& error) {
    refuse(error.what());
  }
}

}  // namespace partita

#include "fuzz/target.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "base/names.h"

namespace partita {
namespace {

/// The kind of a refusal: its first words, but for those with digits or quotation marks.
std::string kind_of(std::string_view message) {
  std::string kind, word;
  for (const char c : std::string(message.substr(0, message.find(", got "))) + " ") {
    word += c;
    if (c != ' ') continue;
    if (word.find_first_of("0123456789'\"") == std::string::npos) kind += word;
    word.clear();
  }
  return kind.substr(0, 200);
}

}  // namespace

const FuzzTarget& fuzz_target(std::string_view name) {
  static const std::vector<FuzzTarget> targets = listed_fuzz_targets();
  std::vector<std::string> names;
  for (const FuzzTarget& target : targets) names.push_back(target.name);
  return targets[position_of_name("fuzz", name, names)];
}

std::string with_large_members(std::string object) {
  constexpr size_t kDepth = 15;  // inside the object: 16
  std::string keys;
  for (int i = 0; i < 200; ++i) keys += fmt::format("{}\"{}\":{{}}", i > 0 ? "," : "", i);
  const std::string lists = std::string(kDepth, '[') + std::string(kDepth, ']');
  return object.insert(object.find('{') + 1, fmt::format("\"deep\":{},\"many\":{{{}}},", lists, keys));
}

std::string deep_lists() { return std::string(4000, '[') + std::string(4000, ']'); }

void require(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "FINDING: %.*s\n", static_cast<int>(std::min<size_t>(what.size(), 20'000)), what.data());
  std::abort();
}

std::string give(const FuzzTarget& target, const std::string& input) {
  try {
    target.read(input);
    return "";
  } catch (const InternalError& error) {
    require(false, fmt::format("an internal error: {}", error.what()));
  } catch (const Error& error) {
    const bool refuses = error.code() == ExitCode::usage || error.code() == ExitCode::bad_input ||
                         error.code() == ExitCode::missing_file;
    const std::string_view message = error.what();
    require(refuses || target.may_fail, fmt::format("exit code {}: {}", static_cast<int>(error.code()), message));
    require(message.starts_with('[') || target.may_fail, fmt::format("a message without a place: {}", message));
    return message.starts_with('[') ? kind_of(message) : "another message";
  } catch (const std::exception& error) {
    require(false, fmt::format("an exception of another class: {}", error.what()));
  }
  return "";
}

}  // namespace partita

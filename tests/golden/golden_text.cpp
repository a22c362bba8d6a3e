#include "golden/golden_text.h"

#include <algorithm>
#include <sstream>

#include "support/program.h"

namespace partita {
namespace {

constexpr std::string_view kSeparator = "---\n";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Lengths of the longest common subsequences of the lines from `i` and `j` on.
std::vector<std::vector<size_t>> common_lines(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::vector<size_t>> common(a.size() + 1, std::vector<size_t>(b.size() + 1, 0));
  for (size_t i = a.size(); i-- > 0;) {
    for (size_t j = b.size(); j-- > 0;) {
      common[i][j] = a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  return common;
}

std::string result_of(const GoldenRun& run, const std::string& input) {
  try {
    return run(input);
  } catch (const InvalidArgument& error) {
    return fmt::format("error: {}\n", error.what());
  }
}

}  // namespace

GoldenText parse_golden(const std::string& text) {
  const size_t first = text.find('\n'), at = text.find("\n" + std::string(kSeparator));
  if (!text.starts_with("# ") || first == text.npos) {
    throw InvalidArgument("[golden text] no sentence, expected a first line '# ...' that says what the file shows");
  }
  if (at == text.npos || at == first) throw InvalidArgument("[golden text] no input, expected lines and then '---'");
  GoldenText golden{.title = text.substr(2, first - 2),
                    .input = text.substr(first + 1, at - first),
                    .result = text.substr(at + 1 + kSeparator.size())};
  if (("\n" + golden.result).find("\n" + std::string(kSeparator)) != text.npos) {
    throw InvalidArgument("[golden text] a second line '---', expected one");
  }
  return golden;
}

std::string print(const GoldenText& golden) {
  return fmt::format("# {}\n{}{}{}", golden.title, golden.input, kSeparator, golden.result);
}

std::string fault_of_form(const std::string& text, size_t max_lines) {
  try {
    const GoldenText golden = parse_golden(text);
    const auto words = 1 + std::count(golden.title.begin(), golden.title.end(), ' ');
    if (!std::isupper(static_cast<unsigned char>(golden.title[0])) || !golden.title.ends_with('.') || words < 5) {
      return fmt::format("the first line is no sentence, got '{}'", golden.title);
    }
    for (const auto& [name, part] : {std::pair("input", &golden.input), std::pair("result", &golden.result)}) {
      const size_t lines = lines_of(*part).size();
      if (lines == 0 || lines > max_lines) {
        return fmt::format("the {} has {} lines, expected 1 to {}", name, lines, max_lines);
      }
    }
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

std::string line_differences(const std::string& expected, const std::string& got) {
  const std::vector<std::string> a = lines_of(expected), b = lines_of(got);
  const auto common = common_lines(a, b);
  std::string text;
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      text += "  " + a[i++] + "\n";
      ++j;
    } else if (i < a.size() && (j == b.size() || common[i + 1][j] >= common[i][j + 1])) {
      text += "- " + a[i++] + "\n";
    } else {
      text += "+ " + b[j++] + "\n";
    }
  }
  return text;
}

std::vector<std::filesystem::path> files_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> check_golden_texts(const std::filesystem::path& folder, const GoldenRun& run, bool renew) {
  std::vector<std::string> messages;
  for (const std::filesystem::path& path : files_of(folder)) {
    GoldenText golden = parse_golden(read_text(path));
    const std::string got = result_of(run, golden.input);
    if (got == golden.result) continue;
    if (renew) {
      golden.result = got;
      write_text(path, print(golden));
      continue;
    }
    messages.push_back(
        fmt::format("{} shows: {}\n{}The lines with - are in the file, those with + are what its input gives now. If "
                    "they are right, run golden_tests --renew and read the change line by line.\n",
                    path.string(), golden.title, line_differences(golden.result, got)));
  }
  return messages;
}

bool& renews_golden_texts() {
  static bool renews = false;
  return renews;
}

std::string refusal_of_renewal(const char* ci, const char* partita_ci) {
  for (const auto& [name, value] : {std::pair("CI", ci), std::pair("PARTITA_CI", partita_ci)}) {
    if (value == nullptr || *value == '\0') continue;
    return fmt::format("[--renew] CI compares golden texts and does not renew them, got {}={}, expected it unset", name,
                       value);
  }
  return "";
}

}  // namespace partita

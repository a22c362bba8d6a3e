#pragma once
// Golden texts: files that hold an input and the text that it gives, after one sentence that says what they show.
//
//     # A product whose summed dimension is cut leaves a partial sum on every rank.
//     --ranks 4 --parallel semi
//     partita graph 1
//     ...
//     ---
//     partita plan 1
//     ...

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace partita {

constexpr size_t kMaxGoldenLines = 40;  // lines of an input, and of a result

struct GoldenText {
  std::string title;          // the sentence of the first line
  std::string input, result;  // lines before and after "---"
};
/// Parses a file. Throws InvalidArgument unless it begins with a sentence in a comment and has an input and one "---".
GoldenText parse_golden(const std::string& text);
/// Returns the text that `parse_golden` reads.
std::string print(const GoldenText& golden);
/// Returns what is wrong with the form of a file: no sentence, or more than `max_lines` lines of an input or a result.
/// "" if nothing is.
std::string fault_of_form(const std::string& text, size_t max_lines = kMaxGoldenLines);

/// Returns the lines of both texts: those of `expected` alone after "- ", those of `got` alone after "+ ".
std::string line_differences(const std::string& expected, const std::string& got);

/// Returns the files of a folder, in the order of their names.
std::vector<std::filesystem::path> files_of(const std::filesystem::path& folder);

/// Returns the text that the input of a golden text gives.
using GoldenRun = std::function<std::string(const std::string& input)>;

/// Runs the input of every file of a folder and returns one message for each file whose result differs. Errors of
/// `run` that are meant for users are results: "error: [where] ...". `renew`: write the results to the files instead.
std::vector<std::string> check_golden_texts(const std::filesystem::path& folder, const GoldenRun& run, bool renew);

/// Whether the program was started with --renew.
bool& renews_golden_texts();
/// Returns why texts cannot be renewed, or "" if they can: in CI, a difference must fail. The arguments are the values
/// of the variables CI and PARTITA_CI; null if they are not set.
std::string refusal_of_renewal(const char* ci, const char* partita_ci);

}  // namespace partita

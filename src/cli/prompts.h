#pragma once
// Prompts in a file, and the lines that are written for them.

#include <string>
#include <vector>

namespace partita {

struct Prompt {
  std::string text;
  std::string where;  // "FILE:LINE", for messages
};

/// Returns the prompts of a file: its lines, or, if its name ends with .jsonl, the "prompt" of the JSON object in each
/// line. Empty lines are left out. Throws MissingFile if the file cannot be read, and InvalidFile, with the number of
/// the line, for a line that is no such object, for a file of more than 64 MiB and for one without prompts.
std::vector<Prompt> read_prompts(const std::string& path);

/// Returns a line of JSON with a prompt and the text after it. Bytes that are no UTF-8 become U+FFFD.
std::string print_generated(const std::string& prompt, const std::string& text);

}  // namespace partita

#pragma once
// A folder of Hugging Face with a small model that reads bytes and four special tokens.

#include <string>
#include <vector>

#include "frontend/data/readers/test_files.h"

namespace partita {

/// Bytes, and the tokens <s> 256, </s> 257, [A] 258 and [U] 259.
struct ChatFolder {
  ChatFolder();
  std::string in(const std::string& name) const { return path + "/" + name; }
  /// Writes a file of the folder.
  void write(const std::string& name, const std::string& text) const;
  /// Returns words that answer or continue a text with the likeliest tokens.
  std::vector<std::string> generate(const std::vector<std::string>& more) const;

  TempDir folder{};
  std::string path{};
};

}  // namespace partita

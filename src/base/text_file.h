#pragma once
// Reads the text files that users give, such as a configuration, a plan or a list of hosts.

#include <cstdint>
#include <string>
#include <string_view>

namespace partita {

/// A kind of text file.
struct TextFile {
  std::string_view where;    // begins messages: "cluster"
  std::string_view purpose;  // name of its contents: "a cluster"
  int64_t max_bytes = 0;
  /// Whether it may be a pipe or a device, such as that of `<(command)` in a shell. Reading waits for its end.
  bool may_be_pipe = true;
};

/// Returns the contents of a file. Throws MissingFile "[where] cannot read PATH: .." if there is no such file, if it is
/// a folder, a socket, or a pipe or a device that it may not be, or if the system cannot read it; InvalidFile if it has
/// more than `max_bytes` bytes, of which no more are then read.
std::string read_text_file(const std::string& path, const TextFile& kind);

}  // namespace partita

#pragma once
// Log files: files that only this program writes.

#include <string>
#include <string_view>

namespace partita {

/// Opens the regular file at `path` for writing, creating it if it is missing, and returns its descriptor, which the
/// caller closes. The file is emptied unless `appends`. Throws RuntimeFailure(cannot_write), beginning with "[where]",
/// if the file cannot be opened or emptied, and if it is not regular: a symbolic link may lead to another user's file,
/// and a pipe may have no reader.
int open_log_file(std::string_view where, const std::string& path, bool appends);

}  // namespace partita

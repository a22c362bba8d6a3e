#pragma once
// Files that only this program writes.

#include <string>
#include <string_view>

namespace partita {

/// Opens a log: a regular file, made when it is missing. Neither a symbolic link, which may lead to a file of somebody
/// else, nor a pipe, which may have no reader. Returns its descriptor. Throws RuntimeFailure(cannot_write), which
/// begins with "[where]".
int open_log_file(std::string_view where, const std::string& path, bool appends);

}  // namespace partita

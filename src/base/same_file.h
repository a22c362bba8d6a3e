#pragma once

#include <string>

namespace partita {

/// Whether both paths lead to one file through any links, or would if the file existed.
bool same_file(const std::string& one, const std::string& other);

}  // namespace partita

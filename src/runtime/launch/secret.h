#pragma once
// What the ranks of a job know and nobody else: only who knows it can join.

#include <functional>
#include <string>

namespace partita {

/// PARTITA_SECRET, or the first line of the file PARTITA_SECRET_FILE; without both that of ~/.config/partita/secret,
/// which is made where there is none, so that processes of one user that no launcher started find one another. Throws
/// InvalidArgument for a file that others may read, RuntimeFailure(cannot_write) where none can be made.
std::string job_secret(const std::function<const char*(const char*)>& variable);

/// 32 random bytes as text.
std::string new_secret();

}  // namespace partita

#pragma once
// The secret that only the ranks of a job know, and that they need to join.

#include <functional>
#include <string>

namespace partita {

/// Returns PARTITA_SECRET, or the first line of the file PARTITA_SECRET_FILE, or else that of ~/.config/partita/secret.
/// The latter is created if it is missing, so that processes of one user find one another without a launcher.
/// `variable` returns an environment variable, null if it is not set. Throws InvalidArgument for a file that is not
/// regular or not private to this user, MissingFile if it cannot be opened, RuntimeFailure(cannot_write) if it cannot
/// be created, RuntimeFailure(internal) if the system has no random bytes for it.
std::string job_secret(const std::function<const char*(const char*)>& variable);

/// 32 random bytes as 64 hexadecimal digits. Throws RuntimeFailure(internal) if the system has none.
std::string new_secret();

}  // namespace partita

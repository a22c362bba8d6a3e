#pragma once
// Small files in which the system states facts, such as those under /proc and /sys. They are read without a locale.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace partita {

/// Returns the first line of a file without its end; "" if the file cannot be read or is empty.
std::string first_line(const std::string& path);

/// Returns the whole number that is the first word of a file; nullopt if the file cannot be read or begins otherwise.
std::optional<int64_t> number_in(const std::string& path);

/// Returns the whole number after `key` in a file of lines "key number ..", such as "MemTotal:" in /proc/meminfo;
/// nullopt if the file cannot be read or has no such line.
std::optional<int64_t> number_after(const std::string& path, std::string_view key);

}  // namespace partita

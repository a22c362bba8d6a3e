#pragma once
// Formats seconds and bytes for people.

#include <string>

namespace partita {

inline constexpr double kGiB = 1 << 30;  // bytes

std::string print_seconds(double seconds);  // "1.234 s", "1.234 ms", "12.3 us"
std::string print_memory(double bytes);     // "123 B", "12.3 KiB", "12.3 MiB", "1.23 GiB"

}  // namespace partita

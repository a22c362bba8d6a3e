#pragma once
// How much memory this process can use.

#include <cstdint>
#include <optional>
#include <string>

namespace partita {

/// Returns the bytes that this process can still allocate: the smallest of the machine's available memory, what its
/// control groups may still use, and what is left of its address-space limit. Nothing if none of them is known. `root`
/// is prepended to paths under /proc and /sys, for tests.
std::optional<int64_t> available_memory(const std::string& root = "");

/// Returns the smallest memory limit of this process's control groups in bytes; nullopt if there is none.
std::optional<int64_t> memory_limit(const std::string& root = "");

/// Returns the resident memory of this process in bytes, pages of mapped files included; nullopt if it is unknown.
std::optional<int64_t> resident_memory();

/// Returns a size with its unit: "1.5 GiB", or "12 bytes" below 1 KiB.
std::string print_bytes(int64_t bytes);

}  // namespace partita

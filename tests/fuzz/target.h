#pragma once
// A reader of bytes from elsewhere, for libFuzzer and for driver.cpp: one file for each defines both functions.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// Reads `data`; an error that the reader reports is no finding, anything else ends the process.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

/// Inputs that are right, to begin with.
std::vector<std::string> seeds();

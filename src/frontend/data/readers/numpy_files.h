#pragma once
// Arrays in the file formats of NumPy (numpy.lib.format, versions 1 to 3).

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/shape.h"

namespace partita {

/// The array in a .npy file (also .gz, .xz). Little-endian numbers and bools, in row-major or column-major order;
/// 8- and 16-bit integers other than u8 become i32. Throws MissingFile, and InvalidFile for anything else: a cut file,
/// objects, texts, complex or big-endian numbers, more than 16 GiB.
Array read_npy(const std::filesystem::path& file);

/// The arrays in a .npz file, stored or deflated, by their names without ".npy", in the order of the file. Throws as
/// read_npy does.
std::vector<std::pair<std::string, Array>> read_npz(const std::filesystem::path& file);

/// The same of those arrays alone that have one of the names; the others are not read.
std::vector<std::pair<std::string, Array>> read_npz(const std::filesystem::path& file,
                                                    const std::vector<std::string>& names);

/// The names of the arrays, none of which is read.
std::vector<std::string> npz_names(const std::filesystem::path& file);

}  // namespace partita

#pragma once
// Arrays in NumPy's file formats (numpy.lib.format, versions 1 to 3).

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/shape.h"

namespace partita {

/// Where the elements of a .npy file lie, as its header says.
struct NpyLayout {
  std::string descr{};  // element type, such as "<u2"
  bool column_major = false;
  Shape shape{};
  int64_t first_byte = 0;  // offset of the elements in the file
};

/// Returns the layout of a plain .npy file without reading its elements; whether the file has all of them is not
/// checked. Throws MissingFile if the file cannot be opened, InvalidFile if its header is damaged.
NpyLayout read_npy_layout(const std::filesystem::path& file);

/// Returns the array in a .npy file (also .gz, .xz). It holds little-endian numbers or bools, in row-major or
/// column-major order; 8- and 16-bit integers other than u8 become i32. Throws MissingFile if the file cannot be
/// opened, InvalidFile for anything else (a truncated file, objects, texts, complex or big-endian numbers, more than 16
/// GiB), and RuntimeFailure(out_of_memory) if the array does not fit the available memory.
Array read_npy(const std::filesystem::path& file);

/// Returns the arrays in a .npz file, stored or deflated, by their names without ".npy", in file order. Throws as
/// read_npy does.
std::vector<std::pair<std::string, Array>> read_npz(const std::filesystem::path& file);

/// Returns the arrays in a .npz file that have one of `names`, in file order, without reading the others. Names that
/// the file lacks are ignored. Throws as read_npy does.
std::vector<std::pair<std::string, Array>> read_npz(const std::filesystem::path& file,
                                                    const std::vector<std::string>& names);

/// Returns the names of the arrays in a .npz file without reading them, in file order and without ".npy". Throws
/// MissingFile if the file cannot be opened, InvalidFile if it is not a regular file or no zip file.
std::vector<std::string> npz_names(const std::filesystem::path& file);

}  // namespace partita

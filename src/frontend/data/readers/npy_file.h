#pragma once
// A .npy file whose elements are read in place.

#include <optional>

#include "base/shape.h"
#include "frontend/data/readers/npy_elements.h"
#include "frontend/data/readers/random_access_file.h"

namespace partita {

/// The array of a plain .npy file in row-major order. Its elements are read when they are needed.
class NpyFile {
 public:
  /// Opens the file. Throws MissingFile if it cannot be opened, InvalidFile if its header is damaged or in column-major
  /// order, its elements are not supported, or it has another size than the header says.
  explicit NpyFile(const std::filesystem::path& path);

  /// Type of the array, as `read_npy` gives it.
  const Type& type() const { return type_; }
  const std::filesystem::path& path() const { return file_.path(); }
  /// Writes the `count` elements from `first` on, in row-major order, to `to`. The range is not checked. Thread-safe.
  /// Throws InvalidFile if the file became shorter.
  void read(int64_t first, int64_t count, void* to) const;

 private:
  RandomAccessFile file_;
  const NpyElement* element_ = nullptr;
  int64_t first_byte_ = 0;
  Type type_{};
};

/// Opens a .npy file that is better read in place than kept in memory: a plain one above 64 MiB in row-major order.
/// Returns nothing for any other file, also a missing one. Throws InvalidFile as the constructor of NpyFile does.
std::optional<NpyFile> open_large_npy(const std::filesystem::path& path);

}  // namespace partita

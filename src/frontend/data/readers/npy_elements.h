#pragma once
// Element types of NumPy's files.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace partita {

/// The format of elements in a file, and the type they become.
struct NpyElement {
  std::string_view descr;
  size_t bytes;
  DType dtype;
  void (*widen)(const uint8_t* from, int64_t count, int32_t* to);  // null: copied unchanged
};

/// Returns the format that a header names, such as "<f4". Throws InvalidFile, naming the file `where`, if it is not
/// supported.
const NpyElement& npy_element(const std::string& descr, const std::string& where);

/// Makes every byte but zero a one.
void normalize_bools(void* bytes, int64_t count);

}  // namespace partita

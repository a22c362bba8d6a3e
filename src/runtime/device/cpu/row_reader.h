#pragma once
// Reads rows of arrays that lie in the memory formats of oneDNN.

#include <memory>

#include "ir/kernels/kernel_catalog.h"
#include "runtime/device/row_reader.h"

namespace partita {

/// Of an array with elements of 4 bytes in a memory format that is named as oneDNN names its blocked ones: "ABcd16b16a"
/// has the dimensions a, b, c and d, outermost first, of which a and b are cut into blocks of 16, and within a block of
/// both the index of a is the fastest.
std::unique_ptr<RowReader> make_row_reader(const Type& type, const MemoryFormat& format);

}  // namespace partita

#pragma once
// Reads rows of arrays in the memory formats of oneDNN.

#include <memory>

#include "ir/kernels/kernel_catalog.h"
#include "runtime/device/row_reader.h"

namespace partita {

/// Makes a reader for arrays with elements of 4 bytes in a blocked memory format, named as in oneDNN. "ABcd16b16a" has
/// the dimensions a, b, c and d, outermost first. a and b are cut into blocks of 16; inside a block the index of a
/// varies fastest. Throws InternalError for other elements, a scalar, no elements, rows that need indices of more than
/// 32 bits, or a name that is not one of such a format.
std::unique_ptr<RowReader> make_row_reader(const Type& type, const MemoryFormat& format);

}  // namespace partita

#pragma once
// Element types of Partita and of plugins.

#include "base/dtype.h"
#include "runtime/pjrt/c_api.h"

namespace partita::pjrt {

ElementType element_type(DType dtype);
/// Returns the type of Partita. Throws InternalError for types that Partita does not have.
DType dtype_of(int element_type);

}  // namespace partita::pjrt

#pragma once
// Arrays of a device that are longer than those of the host: what a program of all ranks pads.

#include "runtime/device/xla/accelerator.h"

namespace partita {

/// Copies a value to the device of an accelerator, as an array of type `padded`, which begins with it in each
/// dimension. What comes after it are zeros. Throws RuntimeFailure(out_of_memory) if there is too little memory.
pjrt::Buffer upload_padded(const Accelerator& accelerator, ConstTensor value, const Type& padded);
/// Copies what an array of type `padded` begins with to `value`. Waits for the program that computes the array, and
/// throws its error.
void download_padded(const pjrt::Buffer& array, const Type& padded, Tensor value);

}  // namespace partita

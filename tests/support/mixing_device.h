#pragma once
// A device with kernels that mix 16-bit and 32-bit floats, as some processors have them.

#include "runtime/device/device.h"

namespace partita {

/// Returns the CPU device and, of each of its kernels of products, one that takes bf16 operands and gives f32 or bf16:
/// "mixing.NAME" widens the operands, computes in f32 and rounds the results once.
std::unique_ptr<Device> make_mixing_device(int threads, KernelSet kernels);

}  // namespace partita

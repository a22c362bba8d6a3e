#pragma once
// CIFAR-10, binary version: records of one label byte and 32 x 32 red, green and blue bytes.

#include <filesystem>

#include "data/dataset.h"
#include "data/readers/image_rows.h"

namespace partita {

/// Columns image u8[32,32,3] (HWC) and label i32[]. Train is every data_batch_{1..5}.bin that is in
/// `directory` (at least one), test is test_batch.bin; plain, .gz or .xz. Throws MissingFile or
/// InvalidFile.
DatasetPtr read_cifar10(const std::filesystem::path& directory, Split split);

/// Whether any file of these rows is in `directory`.
bool has_cifar10(const std::filesystem::path& directory, Split split);

inline const Type kCifar10Image{DType::u8, {32, 32, 3}};
/// Of the training images.
inline const ChannelScaling kCifar10Scaling{{0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}};

}  // namespace partita

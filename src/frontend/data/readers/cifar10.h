#pragma once
// CIFAR-10, binary version: records of one label byte and 32 x 32 red, green and blue bytes.

#include <filesystem>

#include "frontend/data/dataset.h"
#include "frontend/data/readers/image_rows.h"

namespace partita {

inline constexpr int kCifar10Batches = 5;

/// Reads a dataset with the columns image u8[32,32,3] (HWC) and label i32[], in the order of the files. The training
/// rows are data_batch_1.bin to data_batch_N.bin in `directory`, all five or the first N; the test rows are
/// test_batch.bin. Files may be plain, .gz or .xz. Throws MissingFile if there is no file of the split, also for a gap
/// in the batches, and InvalidFile for damaged files, incomplete records, labels above 9 and a file of more than
/// 100,000 records.
DatasetPtr read_cifar10(const std::filesystem::path& directory, Split split);

/// Whether `directory` has data_batch_1.bin for training, test_batch.bin for testing, plain, .gz or .xz.
bool has_cifar10(const std::filesystem::path& directory, Split split);

inline const Type kCifar10Image{DType::u8, {32, 32, 3}};
/// Mean and standard deviation of the training images.
inline const ChannelScaling kCifar10Scaling{{0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}};

/// Returns the number of training batches, data_batch_1.bin to data_batch_N.bin, in `directory`: 1 to kCifar10Batches.
/// Throws MissingFile if there is none, or if one is missing before another.
int count_cifar10_batches(const std::filesystem::path& directory);

}  // namespace partita

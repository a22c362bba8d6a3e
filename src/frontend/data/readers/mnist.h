#pragma once
// MNIST handwritten digits in the IDX format: big-endian words for a magic number and the sizes, then one byte per
// element. The magic number is 0x803 for images, 0x801 for labels.

#include <filesystem>

#include "frontend/data/dataset.h"
#include "frontend/data/readers/image_rows.h"

namespace partita {

/// Reads a dataset with the columns image u8[28,28,1] (HWC) and label i32[] from
/// {train,t10k}-{images-idx3,labels-idx1}-ubyte in `directory`, plain, .gz or .xz. Throws MissingFile if one of the two
/// files is missing, and InvalidFile for damaged files, labels above 9 and different numbers of images and labels.
DatasetPtr read_mnist(const std::filesystem::path& directory, Split split);

/// Whether `directory` has the file of images or that of labels of the split, plain, .gz or .xz; one of them suffices.
bool has_mnist(const std::filesystem::path& directory, Split split);

inline const Type kMnistImage{DType::u8, {28, 28, 1}};
/// Mean and standard deviation of the training images.
inline const ChannelScaling kMnistScaling{{0.1307}, {0.3081}};

}  // namespace partita

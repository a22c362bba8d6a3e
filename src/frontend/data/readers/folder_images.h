#pragma once
// Images in folders, one folder for each class.

#include <string>

#include "frontend/data/dataset.h"

namespace partita {

/// How images of any size become those of a network.
struct ImageWindow {
  int64_t height = 0, width = 0;
  /// A window of 8 to 100 % of the area and of sides in a ratio of 3:4 to 4:3, drawn per (seed, epoch, sample) and
  /// resized, half of them with left and right swapped (Szegedy et al., 2015). Otherwise the middle of the image, whose
  /// shorter side is resized to 8/7 of the window.
  bool augment = false;
  uint64_t seed = 1;
};

/// Whether a folder has images of the split. Those of training stand in FOLDER/train/CLASS, or without such a folder in
/// FOLDER/CLASS; those for testing in FOLDER/test/CLASS or FOLDER/val/CLASS. Throws InvalidFile if a folder cannot be
/// read, and for a link to nothing.
bool has_folder_images(const std::string& folder, Split split);

/// Returns a dataset with the columns "image" (u8[height,width,3]) and "label" (i32[]), in the order of the names of
/// classes and of files; the label is the place of the class in the order of the names of the training's folders, also
/// of those without images. Files are decoded when rows are read, which throws as `decode_image` does. Throws
/// MissingFile if the folder has no images of the split. Throws InvalidFile if the training has more than `classes`
/// classes, or lacks one of the test, if a folder cannot be read, and for a link to nothing.
DatasetPtr read_folder_images(const std::string& folder, Split split, const ImageWindow& window, int64_t classes);

}  // namespace partita

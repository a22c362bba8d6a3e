#pragma once
// Images in files.

#include <filesystem>

#include "base/shape.h"

namespace partita {

/// Whether a file's name ends as those of images that `decode_image` reads: .jpg, .jpeg or .png, in any case.
bool is_image_name(const std::filesystem::path& path);

/// Returns the pixels of a JPEG or PNG file as u8[height,width,3], red first; grey images have three equal channels,
/// and what is transparent lies on black. Thread-safe. Throws MissingFile if the file cannot be opened, InvalidFile if
/// it is neither, damaged, truncated, larger than 256 MiB or 2^28 pixels, or has colours for printing (CMYK).
Array decode_image(const std::filesystem::path& path);

}  // namespace partita

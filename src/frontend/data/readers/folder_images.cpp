#include "frontend/data/readers/folder_images.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/philox.h"
#include "frontend/data/readers/decode_image.h"
#include "frontend/data/readers/image_rows.h"
#include "frontend/data/transforms/image_maps.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRgb = 3;
constexpr int kTries = 10;              // windows that are drawn before the middle is taken
constexpr int kDraws = 4 * kTries + 1;  // random numbers of a row

/// A part of an image.
struct Window {
  int64_t top = 0, left = 0, height = 0, width = 0;
};

/// Returns the largest window in the middle of an image whose sides are in a ratio of at most `largest` and at least
/// `least`.
Window middle(int64_t height, int64_t width, double least, double largest) {
  Window window{0, 0, height, width};
  const double ratio = static_cast<double>(width) / static_cast<double>(height);
  if (ratio < least) window.height = std::max<int64_t>(1, std::llround(static_cast<double>(width) / least));
  if (ratio > largest) window.width = std::max<int64_t>(1, std::llround(static_cast<double>(height) * largest));
  window.height = std::min(window.height, height);
  window.width = std::min(window.width, width);
  window.top = (height - window.height) / 2;
  window.left = (width - window.width) / 2;
  return window;
}

Array part_of(const Array& image, const Window& window) {
  Array part(Type{DType::u8, {window.height, window.width, kRgb}});
  const int64_t row = image.type().shape[1] * kRgb, own = window.width * kRgb;
  for (int64_t y = 0; y < window.height; ++y) {
    std::memcpy(part.as<uint8_t>() + y * own, image.as<uint8_t>() + (window.top + y) * row + window.left * kRgb,
                static_cast<size_t>(own));
  }
  return part;
}

void flip(uint8_t* image, int64_t height, int64_t width) {
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t a = 0, b = width - 1; a < b; ++a, --b) {
      std::swap_ranges(image + (y * width + a) * kRgb, image + (y * width + a + 1) * kRgb,
                       image + (y * width + b) * kRgb);
    }
  }
}

class FolderImages : public Dataset {
 public:
  FolderImages(std::vector<fs::path> files, std::vector<int32_t> labels, const ImageWindow& window)
      : files_(std::move(files)),
        labels_(std::move(labels)),
        window_(window),
        columns_(image_columns(Type{DType::u8, {window.height, window.width, kRgb}})),
        resize_(resize(window.height, window.width)),
        key_(random_key(window.seed, "random_resized_crop")) {}

  const std::vector<Column>& columns() const override { return columns_; }
  int64_t size() const override { return static_cast<int64_t>(files_.size()); }

 protected:
  void fill(int64_t epoch, std::span<const int64_t> indices, std::span<const Tensor> out) const override {
    const std::vector<Tensor> images{out[0]};
    for (size_t k = 0; k < indices.size(); ++k) {
      const Array image = decode_image(files_[static_cast<size_t>(indices[k])]);
      const Tensor to{columns_[0].type, out[0].as<uint8_t>() + static_cast<int64_t>(k) * columns_[0].type.bytes()};
      window_.augment ? place_drawn(image, {epoch, indices[k]}, to) : place_middle(image, to);
      out[1].as<int32_t>()[k] = labels_[static_cast<size_t>(indices[k])];
    }
  }

 private:
  /// Returns random number `number` of a row, at least 0 and below 1.
  double draw(const RowKey& row, int number) const {
    const uint64_t element = static_cast<uint64_t>(row.sample) * kDraws + static_cast<uint64_t>(number);
    return uniform_of(random_word(key_, element, static_cast<uint64_t>(row.epoch)));
  }

  Window drawn_window(const RowKey& row, int64_t height, int64_t width) const {
    constexpr double kMinArea = 0.08, kMinRatio = 3.0 / 4, kMaxRatio = 4.0 / 3;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      const double share = kMinArea + (1 - kMinArea) * draw(row, 4 * attempt);
      const double area = share * static_cast<double>(height) * static_cast<double>(width);
      const double ratio = std::exp(std::log(kMinRatio) + std::log(kMaxRatio / kMinRatio) * draw(row, 4 * attempt + 1));
      const int64_t w = std::llround(std::sqrt(area * ratio)), h = std::llround(std::sqrt(area / ratio));
      if (w < 1 || h < 1 || w > width || h > height) continue;
      const auto begin = [&](int64_t room, int number) {
        return std::min(room, static_cast<int64_t>(draw(row, number) * static_cast<double>(room + 1)));
      };
      return {begin(height - h, 4 * attempt + 2), begin(width - w, 4 * attempt + 3), h, w};
    }
    return middle(height, width, kMinRatio, kMaxRatio);
  }

  void place_drawn(const Array& image, const RowKey& row, const Tensor& to) const {
    const Array part = part_of(image, drawn_window(row, image.type().shape[0], image.type().shape[1]));
    resize_->apply(part.tensor(), to, row);
    if (draw(row, kDraws - 1) < 0.5) flip(to.as<uint8_t>(), window_.height, window_.width);
  }

  /// Resizes the middle of the image, 7/8 of its shorter side, which is the same as to resize first.
  void place_middle(const Array& image, const Tensor& to) const {
    const double ratio = static_cast<double>(window_.width) / static_cast<double>(window_.height);
    Window window = middle(image.type().shape[0], image.type().shape[1], ratio, ratio);
    const auto shrink = [](int64_t& begin, int64_t& count) {
      const int64_t kept = std::max<int64_t>(1, std::llround(static_cast<double>(count) * 7 / 8));
      begin += (count - kept) / 2;
      count = kept;
    };
    shrink(window.top, window.height);
    shrink(window.left, window.width);
    resize_->apply(part_of(image, window).tensor(), to, {});
  }

  const std::vector<fs::path> files_;
  const std::vector<int32_t> labels_;
  const ImageWindow window_;
  const std::vector<Column> columns_;
  const ValueMapPtr resize_;
  const uint64_t key_;
};

/// Returns the entries of a folder that `wanted` takes, by their names; nothing for what is no folder. Throws
/// InvalidFile if the folder cannot be read: classes would get the numbers of others.
template <class Fn>
std::vector<fs::path> entries(const fs::path& folder, const Fn& wanted) {
  std::vector<fs::path> found;
  std::error_code failure;
  if (!fs::is_directory(folder, failure)) return found;
  fs::directory_iterator at(folder, failure);
  for (const fs::directory_iterator end; !failure && at != end; at.increment(failure)) {
    if (!at->path().filename().string().starts_with('.') && wanted(*at)) found.push_back(at->path());
  }
  if (failure) {
    throw InvalidFile("[images] a folder cannot be read, got '{}' ({}), expected one of images", folder.string(),
                      failure.message());
  }
  std::ranges::sort(found);
  return found;
}

std::vector<fs::path> images_in(const fs::path& folder) {
  return entries(folder, [](const fs::directory_entry& one) {
    std::error_code failure;
    if (!is_image_name(one.path())) return false;
    if (one.is_symlink(failure) && !one.exists(failure)) {
      throw InvalidFile("[images] a link to nothing, got '{}', expected an image", one.path().string());
    }
    return one.is_regular_file(failure);
  });
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  return entries(folder, [](const fs::directory_entry& one) {
    std::error_code failure;
    return one.is_directory(failure);
  });
}

bool have_images(const std::vector<fs::path>& classes) {
  return std::ranges::any_of(classes, [](const fs::path& one) { return !images_in(one).empty(); });
}

/// Returns the folders of classes of a split, also those without images; none if no class has any.
std::vector<fs::path> classes_of(const fs::path& folder, Split split) {
  std::error_code failure;
  const bool has_train = fs::is_directory(folder / "train", failure);
  std::vector<fs::path> places;
  if (split == Split::train) places = {has_train ? folder / "train" : folder};
  if (split == Split::test && has_train) places = {folder / "test", folder / "val"};
  for (const fs::path& place : places) {
    std::vector<fs::path> found = folders_in(place);
    if (have_images(found)) return found;
  }
  return {};
}

/// Returns the place of each folder's name among those of the classes of the training. Throws InvalidFile for another
/// name.
std::vector<int32_t> labels_of(const std::vector<fs::path>& folders, const std::vector<fs::path>& trained) {
  std::vector<int32_t> labels;
  for (const fs::path& folder : folders) {
    const auto same = [&](const fs::path& one) { return one.filename() == folder.filename(); };
    const auto found = std::ranges::find_if(trained, same);
    if (found == trained.end()) {
      throw InvalidFile("[images] a class that the training images lack, got '{}', expected one of their {} folders",
                        folder.string(), trained.size());
    }
    labels.push_back(static_cast<int32_t>(found - trained.begin()));
  }
  return labels;
}

}  // namespace

bool has_folder_images(const std::string& folder, Split split) { return !classes_of(folder, split).empty(); }

DatasetPtr read_folder_images(const std::string& folder, Split split, const ImageWindow& window, int64_t classes) {
  const std::vector<fs::path> found = classes_of(folder, split);
  if (found.empty()) {
    throw MissingFile("[images] no images, got '{}', expected {}/CLASS/NAME.jpg, .jpeg or .png", folder,
                      split == Split::train ? "train" : "test");
  }
  const std::vector<fs::path> trained = classes_of(folder, Split::train);
  if (static_cast<int64_t>(trained.size()) > classes) {
    throw InvalidFile("[images] more classes than the model has, got {} folders in '{}', expected at most {}",
                      trained.size(), folder, classes);
  }
  const std::vector<int32_t> numbers = labels_of(found, trained);
  std::vector<fs::path> files;
  std::vector<int32_t> labels;
  for (size_t i = 0; i < found.size(); ++i) {
    for (fs::path& file : images_in(found[i])) {
      files.push_back(std::move(file));
      labels.push_back(numbers[i]);
    }
  }
  return std::make_shared<FolderImages>(std::move(files), std::move(labels), window);
}

}  // namespace partita

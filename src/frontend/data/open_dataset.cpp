#include "frontend/data/open_dataset.h"

#include <algorithm>
#include <filesystem>

#include "frontend/data/declared_rows.h"
#include "frontend/data/readers/array_rows.h"
#include "frontend/data/readers/cifar10.h"
#include "frontend/data/readers/folder_images.h"
#include "frontend/data/readers/mnist.h"
#include "frontend/data/readers/synthetic.h"
#include "frontend/data/readers/token_files.h"
#include "frontend/data/transforms/image_maps.h"
#include "frontend/data/views/computed_shuffle.h"
#include "frontend/data/views/map.h"
#include "frontend/data/views/shuffle.h"

namespace partita {
namespace {

// Constant, so that a training and a later evaluation see the same patterns under different seeds.
constexpr uint64_t kSyntheticSeed = 1;

// Statistics of the training images of ImageNet, which models of photographs expect.
const ChannelScaling kImageNetScaling{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};

constexpr uint64_t kMaxShuffledText = uint64_t{1} << 30;   // bytes of a text whose rows `shuffle` orders
constexpr int64_t kMaxSyntheticBytes = int64_t{64} << 20;  // maximum bytes of synthetic text, which is held in memory

int64_t synthetic_rows(Split split) { return split == Split::train ? kSyntheticTrainRows : kSyntheticTestRows; }

/// Returns how images in folders become those of the network: of the size that is asked for, or that it declares.
/// Throws InvalidArgument if neither is known.
ImageWindow window_of(Split split, const RowFormat& format) {
  const bool is_declared = format.input_shape.size() == 3 && format.input_shape[1] > 0 && format.input_shape[2] > 0;
  if (format.resize <= 0 && !is_declared) {
    throw InvalidArgument("[data] the size of the images is not known, got no --resize, expected --resize 224, say");
  }
  return {.height = format.resize > 0 ? format.resize : format.input_shape[1],
          .width = format.resize > 0 ? format.resize : format.input_shape[2],
          .augment = split == Split::train && format.augment,
          .seed = format.seed};
}

/// Returns the type of images before they are prepared. Throws InvalidArgument if generated images have other
/// dimensions than height, width and channels, and as `window_of` does.
Type image_type(const DataSource& source, const RowFormat& format) {
  if (source.kind == DataKind::mnist) return kMnistImage;
  if (source.kind == DataKind::cifar10) return kCifar10Image;
  if (source.kind == DataKind::images) {
    const ImageWindow window = window_of(Split::train, format);
    return {DType::u8, {window.height, window.width, 3}};
  }
  if (format.image.rank() == 3) return format.image;
  throw InvalidArgument(
      "[data] generated images have another number of dimensions, got {}, expected u8[height,width,channels]",
      print(format.image));
}

DatasetPtr read_images(const DataSource& source, Split split, const RowFormat& format) {
  if (source.kind == DataKind::mnist) return read_mnist(source.paths[0], split);
  if (source.kind == DataKind::cifar10) return read_cifar10(source.paths[0], split);
  if (source.kind == DataKind::images) {
    return read_folder_images(source.paths[0], split, window_of(split, format), format.classes);
  }
  return make_synthetic(image_type(source, format), static_cast<int>(format.classes), synthetic_rows(split),
                        kSyntheticSeed, split);
}

ChannelScaling scaling_of(DataKind kind, int64_t channels) {
  if (kind == DataKind::mnist) return kMnistScaling;
  if (kind == DataKind::cifar10) return kCifar10Scaling;
  if (kind == DataKind::images) return kImageNetScaling;
  const auto count = static_cast<size_t>(channels);
  return {std::vector<double>(count, 0.5), std::vector<double>(count, 0.25)};
}

/// Returns the maps from bytes [height,width,channels] to numbers [channels,height,width] in their order: for training
/// with `augment` a crop and a flip, then resizing if asked for, scaling, the change of order, and the network's type.
/// Throws InvalidArgument for sides that `random_crop` or `resize` does not take.
std::vector<ValueMapPtr> image_maps(const Type& image, DataKind kind, Split split, const RowFormat& format) {
  const ChannelScaling scaling = scaling_of(kind, image.shape[2]);
  std::vector<ValueMapPtr> maps;
  const bool has_windows = kind == DataKind::images;  // the reader has cut and resized them
  if (split == Split::train && format.augment && !has_windows) {
    maps.push_back(random_crop(image.shape[0], image.shape[1], CropPadding{4, 4, 4, 4}, format.seed));
    maps.push_back(random_horizontal_flip(format.seed));
  }
  if (format.resize > 0 && !has_windows) maps.push_back(resize(format.resize, format.resize));
  maps.push_back(rescale(1.0 / 255, 0));
  maps.push_back(normalize(scaling.mean, scaling.std));
  maps.push_back(hwc_to_chw());
  if (format.dtype != DType::f32) maps.push_back(cast(format.dtype));
  return maps;
}

DatasetPtr open_images(const DataSource& source, Split split, const RowFormat& format) {
  DatasetPtr rows = read_images(source, split, format);
  const Type image = rows->columns()[find_column(*rows, "image")].type;
  if (split == Split::train) rows = shuffle(rows, format.seed);
  return map(rows, {"image"}, chain(image_maps(image, source.kind, split, format)));
}

int64_t synthetic_text_rows(Split split, int64_t tokens) {
  return std::clamp<int64_t>(kMaxSyntheticBytes / tokens, 1, synthetic_rows(split));
}

/// Whether the order of a text's rows is computed. It is not for those that could be read before `computed_shuffle` was
/// there, so that trainings on them go on with the same rows.
bool has_computed_order(const std::string& text) {
  std::error_code code;
  return std::filesystem::file_size(text, code) > kMaxShuffledText && !code;
}

DatasetPtr open_tokens(const DataSource& source, Split split, const TextFormat& text) {
  if (!has_rows(source, split)) {
    throw InvalidArgument("[--data] no rows to test on, got {}, expected tokens:TRAIN,TEST", print(source));
  }
  const std::string& path = source.paths[split == Split::test ? 1 : 0];
  const DatasetPtr rows = read_tokens({path, source.token_type}, split, text);
  return split == Split::train ? computed_shuffle(rows, text.seed) : rows;
}

DatasetPtr open_text(const DataSource& source, Split split, const RowFormat& format) {
  TextFormat text = format.text;
  text.seed = format.seed;
  text.vocabulary = format.classes;
  if (format.ignored_label) text.masked_label = static_cast<int32_t>(*format.ignored_label);
  if (source.kind == DataKind::tokens) return open_tokens(source, split, text);
  const bool is_file = source.kind == DataKind::text;
  const DatasetPtr rows = is_file ? read_text(source.paths[0], split, text)
                                  : make_synthetic_text(synthetic_text_rows(split, text.stride()), text, kSyntheticSeed,
                                                        split, format.classes);
  if (split == Split::test) return rows;
  const bool computes = is_file && has_computed_order(source.paths[0]);
  return computes ? computed_shuffle(rows, format.seed) : shuffle(rows, format.seed);
}

DatasetPtr open_records(Split split, const RowFormat& format) {
  DatasetPtr rows = make_synthetic_records(synthetic_rows(split), format.records, kSyntheticSeed, split);
  if (split == Split::train) rows = shuffle(rows, format.seed);
  return format.records.features == 0 || format.dtype == DType::f32 ? rows
                                                                    : map(rows, {"features"}, cast(format.dtype));
}

std::vector<Column> with_floats(std::vector<Column> columns, DType dtype) {
  for (Column& column : columns) {
    if (is_float(column.type.dtype)) column.type.dtype = dtype;
  }
  return columns;
}

CsvFormat csv_format(const RowFormat& format) {
  return {.image = format.is_images() ? format.input_shape : Shape{},
          .has_float_input = format.is_images(),
          .has_classes = format.labels_are_classes};
}

/// Whether the network declares floats in a column of records.
bool is_declared_float(const std::string& name, const RowFormat& format) {
  return std::ranges::any_of(format.is_records() ? record_columns(format.records) : std::vector<Column>{},
                             [&](const Column& one) { return one.name == name && is_float(one.type.dtype); });
}

bool has_arrays(const DataSource& source) {
  return source.kind == DataKind::npz || source.kind == DataKind::npy || source.kind == DataKind::csv;
}

/// Opens NumPy files and files of comma-separated values. Bytes of images are scaled, floats get the network's type,
/// other numbers become i32; training rows are shuffled. Throws MissingFile, InvalidFile, RuntimeFailure(out_of_memory)
/// and InvalidArgument as `open_dataset` does.
DatasetPtr open_arrays(const DataSource& source, Split split, const RowFormat& format) {
  std::optional<LabelRange> labels;
  if (format.labels_are_classes) labels = {.classes = format.classes, .ignored = format.ignored_label};
  DatasetPtr rows = read_array_rows(source, split, format.input, labels, csv_format(format));
  if (split == Split::train) rows = shuffle(rows, format.seed);
  const std::vector<Column> columns = rows->columns();
  for (const Column& column : columns) {
    const Type& type = column.type;
    if (format.is_images() && column.name == format.input && type.dtype == DType::u8 && type.rank() == 3) {
      const bool is_chw = has_channels_first(type.shape, format.input_shape);
      if (is_chw) rows = map(rows, {column.name}, chw_to_hwc());
      const Type image = is_chw ? chw_to_hwc()->type(type) : type;
      rows = map(rows, {column.name}, chain(image_maps(image, source.kind, split, format)));
      continue;
    }
    const bool is_csv_float = source.kind == DataKind::csv && is_declared_float(column.name, format);
    const DType wanted = is_float(type.dtype) || is_csv_float ? format.dtype : DType::i32;
    if (type.dtype != wanted) rows = map(rows, {column.name}, cast(wanted));
  }
  require_declared(rows->columns(), format, source);
  return rows;
}

}  // namespace

bool has_rows(const DataSource& source, Split split) {
  switch (source.kind) {
    case DataKind::tokens: return split == Split::train || source.paths.size() == 2;
    case DataKind::mnist: return has_mnist(source.paths[0], split);
    case DataKind::cifar10: return has_cifar10(source.paths[0], split);
    case DataKind::images: return has_folder_images(source.paths[0], split);
    case DataKind::npz:
    case DataKind::npy:
    case DataKind::csv: return has_array_rows(source, split);
    case DataKind::text:
    case DataKind::synthetic: return true;
  }
  return false;
}

bool has_masked_tokens(const DataSource& source) {
  return source.kind == DataKind::tokens &&
         std::ranges::any_of(source.paths, [](const std::string& path) { return has_mask(path); });
}

std::vector<Column> columns_of(const DataSource& source, const RowFormat& format) {
  if (has_arrays(source)) return open_arrays(source, Split::train, format)->columns();
  if (format.is_text()) return token_columns(format.text);
  if (format.is_records()) return with_floats(record_columns(format.records), format.dtype);
  const Shape shape = image_type(source, format).shape;
  const int64_t height = format.resize > 0 ? format.resize : shape[0];
  const int64_t width = format.resize > 0 ? format.resize : shape[1];
  const std::vector<Column> columns{{format.input, {format.dtype, {shape[2], height, width}}},
                                    {"label", {DType::i32, {}}}};
  require_declared(columns, format, source);
  return columns;
}

DatasetPtr open_dataset(const DataSource& source, Split split, const RowFormat& format) {
  if (has_arrays(source)) return open_arrays(source, split, format);
  const bool is_text = source.kind == DataKind::text || source.kind == DataKind::tokens;
  const bool fits = source.kind == DataKind::synthetic || is_text == format.is_text();
  if (!fits || (format.is_records() && source.kind != DataKind::synthetic)) {
    const std::string_view expected = format.is_text()      ? "text:FILE or tokens:FILE"
                                      : format.is_records() ? "npz:FILE or csv:FILE"
                                                            : "mnist:DIR, cifar10:DIR or images:DIR";
    throw InvalidArgument("[--data] the model cannot read these rows, got {}, expected {}", name_of(source.kind),
                          expected);
  }
  if (format.is_records()) return open_records(split, format);
  if (format.is_text()) return open_text(source, split, format);
  DatasetPtr rows = open_images(source, split, format);
  require_declared(rows->columns(), format, source);
  return rows;
}

}  // namespace partita

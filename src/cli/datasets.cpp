#include "cli/datasets.h"

#include <algorithm>

#include "data/cifar10.h"
#include "data/file_bytes.h"
#include "data/maps/image_maps.h"
#include "data/mnist.h"
#include "data/synthetic.h"
#include "data/token_rows.h"
#include "data/views/map.h"
#include "data/views/shuffle.h"

namespace partita {
namespace {

// Training and a later evaluation see the same patterns, whatever their seeds.
constexpr uint64_t kSyntheticSeed = 1;

struct Scaling {
  std::vector<double> mean, std;
};

Scaling scaling_of(const std::string& kind, int64_t channels) {
  if (kind == "mnist") return {{0.1307}, {0.3081}};
  if (kind == "cifar10") return {{0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}};
  const auto count = static_cast<size_t>(channels);
  return {std::vector<double>(count, 0.5), std::vector<double>(count, 0.25)};
}

void warn_of_missing_batches(const std::string& folder, int64_t rows) {
  const int batches = count_cifar10_batches(folder);
  if (batches == kCifar10Batches) return;
  warn(fmt::format("[cifar10] {} of {} batches in '{}': training on {} rows", batches, kCifar10Batches, folder, rows));
}

DatasetPtr read_rows(const DataSpec& spec, Split split, const DatasetOptions& options) {
  if (spec.kind == "mnist") return read_mnist(spec.folder, split);
  if (spec.kind == "cifar10") {
    DatasetPtr rows = read_cifar10(spec.folder, split);
    if (split == Split::train) warn_of_missing_batches(spec.folder, rows->size());
    return rows;
  }
  const int64_t rows = split == Split::train ? kSyntheticTrainRows : kSyntheticTestRows;
  return make_synthetic(options.image, options.classes, rows, kSyntheticSeed, split);
}

std::vector<std::string> file_names(const std::string& kind, Split split) {
  if (kind == "cifar10") return {split == Split::train ? "data_batch_1.bin" : "test_batch.bin"};
  const std::string prefix = split == Split::train ? "train" : "t10k";
  return {prefix + "-images-idx3-ubyte", prefix + "-labels-idx1-ubyte"};
}

DatasetPtr open_text(const DataSpec& spec, Split split, const DatasetOptions& options) {
  const int64_t rows = split == Split::train ? kSyntheticTrainRows : kSyntheticTestRows;
  const DatasetPtr text = spec.kind == "text" ? read_text(spec.folder, split, options.tokens)
                                              : make_synthetic_text(rows, options.tokens, kSyntheticSeed, split);
  return split == Split::train ? shuffle(text, options.seed) : text;
}

}  // namespace

bool has_files(const DataSpec& spec, Split split) {
  if (spec.folder.empty() || spec.kind == "text") return true;
  const auto names = file_names(spec.kind, split);
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return !find_packed(spec.folder, name).empty(); });
}

DatasetPtr open_dataset(const DataSpec& spec, Split split, const DatasetOptions& options) {
  if ((spec.kind == "text") != (options.tokens > 0) && spec.kind != "synthetic") {
    throw InvalidArgument(fmt::format("[--data] the model does not read such rows, got {}, expected {}", spec.kind,
                                      options.tokens > 0 ? "text:FILE" : "mnist:DIR or cifar10:DIR"));
  }
  if (options.tokens > 0) return open_text(spec, split, options);
  DatasetPtr rows = read_rows(spec, split, options);
  const Type image = rows->columns()[find_column(*rows, "image")].type;
  const Scaling scaling = scaling_of(spec.kind, image.shape.at(2));

  std::vector<ValueMapPtr> maps;
  if (split == Split::train && options.augment) {
    maps.push_back(random_crop(image.shape[0], image.shape[1], CropPadding{4, 4, 4, 4}, options.seed));
    maps.push_back(random_horizontal_flip(options.seed));
  }
  if (options.resize > 0) maps.push_back(resize(options.resize, options.resize));
  maps.push_back(rescale(1.0 / 255, 0));
  maps.push_back(normalize(scaling.mean, scaling.std));
  maps.push_back(hwc_to_chw());
  if (options.dtype != DType::f32) maps.push_back(cast(options.dtype));
  if (split == Split::train) rows = shuffle(rows, options.seed);
  return map(rows, {"image"}, chain(maps));
}

}  // namespace partita

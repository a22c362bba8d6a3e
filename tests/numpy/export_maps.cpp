// Applies the maps on images to every image of a file and writes what comes out:
//
//   export_maps IMAGES.npy OUT.safetensors      IMAGES: u8[n,height,width,channels]
//
// Tensors: resize.HxW (u8), pipeline.HxW (f32, after rescale, normalize and HWC to CHW), pipeline (without resize),
// crop, flip (u8; drawn for epoch 3 and the number of the image).

#include "frontend/data/readers/memory_rows.h"
#include "frontend/data/readers/numpy_files.h"
#include "frontend/data/transforms/image_maps.h"
#include "frontend/data/views/map.h"
#include "runtime/checkpoint/weights.h"

namespace partita {
namespace {

constexpr uint64_t kSeed = 7;
constexpr int64_t kEpoch = 3;

Array mapped(const Array& images, const std::vector<ValueMapPtr>& maps) {
  const DatasetPtr rows = map(memory_rows({{"image", images}}), {"image"}, chain(maps));
  std::vector<int64_t> all(static_cast<size_t>(rows->size()));
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  Array result(batch_type(rows->columns()[0].type, rows->size()));
  const Tensor out = result.tensor();
  rows->read(kEpoch, all, {&out, 1});
  return result;
}

void run(const std::string& from, const std::string& to) {
  const Array images = read_npy(from);
  const std::vector<ValueMapPtr> scaled{rescale(1.0 / 255, 0),
                                        normalize({0.4465, 0.4822, 0.4914}, {0.2010, 0.1994, 0.2023}), hwc_to_chw()};
  std::vector<std::pair<std::string, Array>> results{{"pipeline", mapped(images, scaled)}};
  for (const auto& [height, width] : {std::pair{224, 224}, {20, 45}, {17, 9}, {33, 31}}) {
    const std::string size = fmt::format("{}x{}", height, width);
    results.emplace_back("resize." + size, mapped(images, {resize(height, width)}));
    std::vector<ValueMapPtr> maps{resize(height, width)};
    maps.insert(maps.end(), scaled.begin(), scaled.end());
    results.emplace_back("pipeline." + size, mapped(images, maps));
  }
  results.emplace_back("crop", mapped(images, {random_crop(30, 28, {1, 2, 3, 4}, kSeed)}));
  results.emplace_back("flip", mapped(images, {random_horizontal_flip(kSeed)}));
  save_weights(to, results);
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: {} IMAGES.npy OUT.safetensors\n", argv[0]);
    return 64;
  }
  try {
    partita::run(argv[1], argv[2]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}

// How fast training rows are made:
//
//   bench_data_pipeline [CIFAR10_DIR] [SIDE=224] [WORKERS=2] [BATCHES=400]
//
// The pipeline is the usual one of CIFAR-10: random crop with padding 4, random flip, resize to SIDE (left out at 32),
// rescale, normalize, HWC to CHW, batches of 32. Prints images per second of the clock and of CPU time (all threads).

#include <sys/resource.h>

#include <chrono>

#include "frontend/data/loading/prefetch.h"
#include "frontend/data/readers/cifar10.h"
#include "frontend/data/readers/synthetic.h"
#include "frontend/data/transforms/image_maps.h"
#include "frontend/data/views/map.h"
#include "frontend/data/views/shuffle.h"
#include "usage.h"

namespace partita {
namespace {

constexpr uint64_t kSeed = 1;
constexpr int64_t kBatch = 32;

double cpu_seconds() {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

DatasetPtr pipeline(DatasetPtr rows, int64_t side) {
  std::vector<ValueMapPtr> maps{random_crop(32, 32, {4, 4, 4, 4}, kSeed), random_horizontal_flip(kSeed)};
  if (side != 32) maps.push_back(resize(side, side));
  maps.push_back(rescale(1.0 / 255, 0));
  maps.push_back(normalize({0.4465, 0.4822, 0.4914}, {0.2010, 0.1994, 0.2023}));
  maps.push_back(hwc_to_chw());
  return map(shuffle(std::move(rows), kSeed), {"image"}, chain(maps));
}

void measure(const DatasetPtr& rows, int workers, int64_t batches) {
  Prefetcher prefetcher(Batcher(rows, {.batch = kBatch}), {.workers = workers, .depth = workers + 1});
  Batch batch;
  for (int i = 0; i < 10; ++i) prefetcher.next(batch);
  const double cpu = cpu_seconds();
  const auto begin = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < batches; ++i) prefetcher.next(batch);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const auto images = static_cast<double>(batches * kBatch);
  fmt::print("{}, {} workers: {:.0f} images/s, {:.0f} per CPU second\n", print(batch.columns[0].type), workers,
             images / wall, images / (cpu_seconds() - cpu));
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  constexpr auto kUsage = "[CIFAR10_FOLDER] [SIDE] [THREADS] [BATCHES]";
  return partita::run_benchmark(argc, argv, kUsage, /*required=*/0, [](const partita::Arguments& given) {
    using namespace partita;
    const DatasetPtr rows = given.count() > 0
                                ? read_cifar10(given.text(1, ""), Split::train)
                                : make_synthetic({DType::u8, {32, 32, 3}}, 10, 10'000, kSeed, Split::train);
    measure(pipeline(rows, given.number(2, 224)), given.number(3, 2), given.number(4, 400));
  });
}

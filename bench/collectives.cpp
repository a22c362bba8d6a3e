// Time of the collectives: `bench_collectives [RANKS] [LARGEST_MIB]` for threads, or the processes of an mpirun.
//
// As in training, every rank writes its buffer before each call. A call lasts from the first
// rank's start to the last rank's end; GB/s is the size of one rank's buffer over its median.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string_view>
#include <vector>

#include "ir/ops/registry.h"
#include "runtime/device/device.h"
#include "runtime/launch/run_process.h"
#include "usage.h"

namespace partita {
namespace {

constexpr int64_t kSizes[] = {4 << 10, 256 << 10, 1 << 20, 8 << 20, 64 << 20};
constexpr int kFewestRuns = 20;
constexpr int kMaxRuns = 400;
constexpr int64_t kBytesPerSize = int64_t{1} << 28;  // decides the runs between those bounds

/// Memory of a device, as that of an executor is.
struct Buffer {
  std::shared_ptr<void> memory;
  int64_t count = 0;
  float* data() const { return static_cast<float*>(memory.get()); }
  void fill() const { std::fill_n(data(), count, 1.0f); }
};

struct Buffers {
  Buffer whole;  // has the size that is measured
  Buffer part;   // this rank's share
  std::vector<int64_t> counts;
};

struct Collective {
  std::string_view name;
  bool sends_whole;  // or its part: what the rank writes before the call
  std::function<void(Communicator&, Buffers&)> call;
};

std::vector<Collective> collectives() {
  return {
      {"all_reduce", true,
       [](Communicator& comm, Buffers& buffers) {
         comm.all_reduce(buffers.whole.data(), buffers.whole.count, DType::f32, Reduce::sum);
       }},
      {"all_gather", false,
       [](Communicator& comm, Buffers& buffers) {
         comm.all_gather(buffers.part.data(), buffers.whole.data(), buffers.counts, DType::f32);
       }},
      {"reduce_scatter", true,
       [](Communicator& comm, Buffers& buffers) {
         comm.reduce_scatter(buffers.whole.data(), buffers.part.data(), buffers.counts, DType::f32, Reduce::sum);
       }},
  };
}

Buffers make_buffers(int rank, int ranks, int64_t bytes) {
  const int64_t count = bytes / static_cast<int64_t>(sizeof(float));
  Buffers buffers;
  for (int r = 0; r < ranks; ++r) {
    buffers.counts.push_back(count * (r + 1) / ranks - count * r / ranks);
  }
  const auto device = make_cpu_device(all_ops(), 1);
  const auto make = [&](int64_t size) { return Buffer{device->allocate(size * sizeof(float)), size}; };
  buffers.whole = make(count);
  buffers.part = make(buffers.counts[rank]);
  return buffers;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds of one call, the same on every rank: from the first start to the last end.
double time_call(Communicator& comm, const Collective& collective, Buffers& buffers) {
  (collective.sends_whole ? buffers.whole : buffers.part).fill();
  comm.barrier();
  double start = seconds_now();
  collective.call(comm, buffers);
  double end = seconds_now();
  comm.all_reduce(&start, 1, DType::f64, Reduce::min);
  comm.all_reduce(&end, 1, DType::f64, Reduce::max);
  return end - start;
}

void measure(Communicator& comm, int64_t largest) {
  if (comm.rank() == 0) {
    fmt::print("{} ranks\n{:<16}{:>12}{:>12}{:>10}\n", comm.size(), "collective", "bytes", "median us", "GB/s");
  }
  for (const Collective& collective : collectives()) {
    for (int64_t bytes : kSizes) {
      if (bytes > largest) break;
      Buffers buffers = make_buffers(comm.rank(), comm.size(), bytes);
      const auto runs = std::clamp<int64_t>(kBytesPerSize / bytes, kFewestRuns, kMaxRuns);
      time_call(comm, collective, buffers);
      std::vector<double> times;
      for (int64_t i = 0; i < runs; ++i) times.push_back(time_call(comm, collective, buffers));
      std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
      const double median = times[runs / 2];
      if (comm.rank() != 0) continue;
      fmt::print("{:<16}{:>12}{:>12.1f}{:>10.2f}\n", collective.name, bytes, median * 1e6,
                 static_cast<double>(bytes) / median / 1e9);
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  return partita::run_benchmark(
      argc, argv, "[RANKS] [LARGEST_MIB]", /*required=*/0, [](const partita::Arguments& given) {
        const int64_t largest = given.number<int64_t>(2, 64) << 20;
        partita::run_on_ranks(partita::this_place(), given.number(1, 2), /*threads=*/1,
                              [&](partita::Communicator& comm) { partita::measure(comm, largest); });
      });
}

// Time of all-reduces: `bench_all_reduce [LARGEST_MIB] [RUNS]` as a rank that a launcher started. Lines are "BYTES
// SECONDS", as bench_mpi_all_reduce prints them; bench/transport.sh compares both.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "launch/run_process.h"
#include "usage.h"

namespace partita {
namespace {

double now_in_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double time_one(Communicator& comm, std::vector<float>& buffer) {
  std::fill(buffer.begin(), buffer.end(), 1.0f);
  comm.barrier();
  double start = now_in_seconds();
  comm.all_reduce(buffer.data(), static_cast<int64_t>(buffer.size()), DType::f32, Reduce::sum);
  double end = now_in_seconds();
  comm.all_reduce(&start, 1, DType::f64, Reduce::min);
  comm.all_reduce(&end, 1, DType::f64, Reduce::max);
  return end - start;
}

void measure(Communicator& comm, int64_t largest, int runs) {
  for (int64_t bytes = 1 << 20; bytes <= largest; bytes *= 4) {
    std::vector<float> buffer(bytes / sizeof(float));
    time_one(comm, buffer);
    std::vector<double> times;
    for (int i = 0; i < runs; ++i) times.push_back(time_one(comm, buffer));
    std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
    if (comm.rank() == 0) fmt::print("{} {:.6f}\n", bytes, times[runs / 2]);
  }
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  if (partita::asks_for_help(argc, argv, "[LARGEST_MIB] [RUNS]")) return 0;
  const int64_t largest = (argc > 1 ? std::atoll(argv[1]) : 64) << 20;
  const int runs = argc > 2 ? std::atoi(argv[2]) : 20;
  try {
    partita::run_on_ranks(partita::this_place(), 2, /*threads=*/1,
                          [&](partita::Communicator& comm) { partita::measure(comm, largest, runs); });
  } catch (const partita::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  }
  return 0;
}

// Time of a collective of processes: `bench_process_collectives [LARGEST_MIB] [RUNS] [CALL]` as a rank that a launcher
// started; CALL is all_reduce, reduce_scatter, all_gather or broadcast. Lines are "BYTES SECONDS", BYTES those of the
// whole buffer, as bench_mpi_collectives prints them; bench/transport.sh compares both.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "runtime/launch/run_process.h"
#include "usage.h"

namespace partita {
namespace {

double now_in_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Buffers {
  std::vector<float> whole, part;
  std::vector<int64_t> counts;  // elements of each rank's part

  Buffers(int64_t elements, int rank, int ranks) : whole(static_cast<size_t>(elements)) {
    for (int64_t r = 0; r < ranks; ++r) counts.push_back(elements * (r + 1) / ranks - elements * r / ranks);
    part.resize(static_cast<size_t>(counts[static_cast<size_t>(rank)]));
  }
};

void call_once(Communicator& comm, Buffers& buffers, std::string_view call) {
  float* const whole = buffers.whole.data();
  const auto count = static_cast<int64_t>(buffers.whole.size());
  if (call == "all_reduce") {
    comm.all_reduce(whole, count, DType::f32, Reduce::sum);
  } else if (call == "reduce_scatter") {
    comm.reduce_scatter(whole, buffers.part.data(), buffers.counts, DType::f32, Reduce::sum);
  } else if (call == "all_gather") {
    comm.all_gather(whole + count * comm.rank() / comm.size(), whole, buffers.counts, DType::f32);
  } else if (call == "broadcast") {
    comm.broadcast(whole, count, DType::f32, /*root=*/0);
  } else {
    throw InvalidArgument(fmt::format(
        "[bench] no such collective, got '{}', expected all_reduce, reduce_scatter, all_gather or broadcast", call));
  }
}

double time_one(Communicator& comm, Buffers& buffers, std::string_view call) {
  std::fill(buffers.whole.begin(), buffers.whole.end(), 1.0f);
  comm.barrier();
  double start = now_in_seconds();
  call_once(comm, buffers, call);
  double end = now_in_seconds();
  comm.all_reduce(&start, 1, DType::f64, Reduce::min);
  comm.all_reduce(&end, 1, DType::f64, Reduce::max);
  return end - start;
}

void measure(Communicator& comm, int64_t largest, int runs, std::string_view call) {
  for (int64_t bytes = 1 << 20; bytes <= largest; bytes *= 4) {
    Buffers buffers(bytes / static_cast<int64_t>(sizeof(float)), comm.rank(), comm.size());
    time_one(comm, buffers, call);
    std::vector<double> times;
    for (int i = 0; i < runs; ++i) times.push_back(time_one(comm, buffers, call));
    std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
    if (comm.rank() == 0) fmt::print("{} {:.6f}\n", bytes, times[runs / 2]);
  }
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  constexpr auto kUsage = "[LARGEST_MIB] [RUNS] [CALL]";
  return partita::run_benchmark(argc, argv, kUsage, /*required=*/0, [](const partita::Arguments& given) {
    const int64_t largest = given.number<int64_t>(1, 64) << 20;
    const int runs = given.number(2, 20);
    const std::string call = given.text(3, "all_reduce");
    partita::run_on_ranks(partita::this_place(), 2, /*threads=*/1,
                          [&](partita::Communicator& comm) { partita::measure(comm, largest, runs, call); });
  });
}
